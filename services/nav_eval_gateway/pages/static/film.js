// A film that is being made: look now and then, and show it when it is there. The step in the address stays.

const box = document.querySelector("[data-film]");

async function look() {
  try {
    const answer = await fetch(box.dataset.film, { headers: { Accept: "application/json" } });
    if (answer.ok && !["waiting", "making"].includes((await answer.json()).state)) return location.reload();
  } catch {
    // the server is away for a moment
  }
  setTimeout(look, 2000);
}

if (box) setTimeout(look, 1000);
