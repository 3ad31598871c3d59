(() => {
  const shown = (of) => of.checkVisibility();
  const all = (selector) => [...document.querySelectorAll(selector)].filter(shown);
  const box = (of) => of.getBoundingClientRect();
  const name = (of) => of.tagName.toLowerCase() + (of.className && typeof of.className === "string" ? "." + of.className : "");
  const short = (text) => text.replace(/\s+/g, " ").trim().slice(0, 60);
  // What there is, where it begins and how wide it is; heights are the fonts' business.
  const outline = all("h1, nav, h2, h3, .warning, .facts, figure, .box, details.numbers > summary").map((of) => {
    const { left, width } = box(of);
    const rows = of.matches(".box") ? ` ${of.querySelectorAll("tr").length} rows` : "";
    const title = of.querySelector("figcaption b, caption") ?? of;
    return `${name(of)} ${Math.round(left)}+${Math.round(width)}${rows}: ${short(title.innerText)}`;
  });
  const blocks = all("figure, .box");
  const overlaps = (a, b) => a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 1 && b.top < a.bottom - 1;
  const over = [];
  blocks.forEach((a, n) => blocks.slice(n + 1).forEach((b) => {
    if (overlaps(box(a), box(b))) over.push([short(a.innerText), short(b.innerText)]);
  }));
  // Words of drawings that are cut off at their edges.
  const cut = all("svg.drawing text").filter((text) => {
    const [inner, outer] = [box(text), box(text.ownerSVGElement)];
    return inner.left < outer.left - 2 || inner.right > outer.right + 2 || inner.bottom > outer.bottom + 3 || inner.top < outer.top - 3;
  }).map((text) => text.textContent);
  const channel = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = (colour) => {
    const [r, g, b] = colour.match(/[\d.]+/g).map((value) => channel(Number(value) / 255));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [x, y] = [light(a), light(b)];
    return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05);
  };
  const behind = (of) => {
    for (let at = of; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (!/, 0\)$/.test(colour)) return colour;
    }
    return "rgb(255, 255, 255)";
  };
  const own = (of) => [...of.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
  const words = all("body *").filter((of) => own(of) && !of.closest("svg"));
  // What is beneath a letter: a colour, or a colour and the stripes that are laid over it.
  const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
  const fills = (rect) => {
    const fill = getComputedStyle(rect).fill;
    const hatch = /url\("?(#[^")]+)/.exec(fill);
    if (!hatch) return [fill];
    const [plain, stripe] = [...document.querySelector(hatch[1]).children].map((of) => getComputedStyle(of).fill);
    const [under, over] = [channels(plain), channels(stripe)];
    const alpha = over[3] ?? 1;
    const mixed = [0, 1, 2].map((n) => alpha * over[n] + (1 - alpha) * under[n]);
    return [plain, `rgb(${mixed.join(", ")})`];
  };
  const coloured = all("rect[class^=c]").filter((of) => /^c\d?h?/.test(of.className.baseVal));
  const drawn = all("svg text:not(.on)");
  const faint = [
    ...words.map((of) => [of, contrast(getComputedStyle(of).color, behind(of))]),
    ...drawn.map((of) => [of, contrast(getComputedStyle(of).fill, behind(of.ownerSVGElement.parentElement))]),
    ...coloured.flatMap((of) => fills(of).map((fill) => [of, contrast("rgb(17, 17, 17)", fill)])),
  ].filter(([, ratio]) => ratio < 4.5).map(([of, ratio]) => `${name(of)} ${short(of.textContent)} ${ratio.toFixed(2)}`);
  return {
    outline, over, cut, faint: [...new Set(faint)],
    hatched: coloured.filter((of) => fills(of).length > 1).length,
    texts: words.length + drawn.length,
    page: [document.documentElement.scrollWidth, document.documentElement.clientWidth],
    buttons: all("button").length,
    boxes: all(".box").length,
  };
})()
