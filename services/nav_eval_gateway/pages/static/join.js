// An invitation as a link: the secret stands behind #, so that it is in no log of addresses.

const field = document.querySelector("input[name=secret]");
if (field && location.hash.startsWith("#nvi_")) {
  field.value = location.hash.slice(1);
  history.replaceState(null, "", location.pathname);
}
