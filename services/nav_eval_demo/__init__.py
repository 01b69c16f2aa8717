"""A whole challenge on one machine, played by its real parts: `nav-eval demo`.

It starts what an organiser starts and does what teams do, over HTTP and with the SDK. It is the one package that
may know all others, and no other may know it.
"""
