"""What every answer tells the browser: what a page may load, who may frame it, what is sent elsewhere.

An answer of the API loads nothing, a page only files of ours, a file of a team's is shut into a sandbox.
"""

NOTHING_POLICY = "default-src 'none'; frame-ancestors 'none'"
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
EMBED_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'none'; base-uri 'none'; frame-ancestors *"
)
"""Of the one page that other sites may frame: a public board without scripts, forms and cookies."""
FILE_POLICY = "sandbox; default-src 'none'"

USUAL_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": NOTHING_POLICY,
    "Cache-Control": "no-store",
}
"""Of an answer that says nothing else."""
STRICT_TRANSPORT = {"Strict-Transport-Security": "max-age=31536000"}
"""Of every answer over https: for a year, browsers come by https only."""
