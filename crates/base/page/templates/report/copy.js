"use strict";
const [TAB, LINE] = [9, 10].map((code) => String.fromCharCode(code));
// On one line, each space a single one.
const plain = (text) => text.split(LINE).join(" ").split(TAB).join(" ").split(" ").filter(Boolean).join(" ");
for (const box of document.querySelectorAll(".box")) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Copy table";
  button.addEventListener("click", () => {
    const cell = (td) => {
      const data = td.querySelector("data");
      const band = td.querySelector("svg");
      if (band) return band.getAttribute("aria-label");
      return data ? data.value : plain(td.innerText);
    };
    const rows = [...box.querySelectorAll("tr")].map((row) => [...row.cells].map(cell).join(TAB));
    const area = document.createElement("textarea");
    area.value = rows.join(LINE) + LINE;
    area.className = "copied";
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    button.textContent = done ? "Copied" : "Can't copy";
    button.dataset.copied = rows.length;
    setTimeout(() => { button.textContent = "Copy table"; }, 1500);
  });
  box.before(button);
}
