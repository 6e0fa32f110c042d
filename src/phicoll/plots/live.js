// Draws a page's figures once they come into view: plotly.js from the page itself, and the pictures are hidden.
(async () => {
  const library = document.getElementById("library");
  if (!library || !window.DecompressionStream || !window.IntersectionObserver) return;
  const packed = Uint8Array.from(atob(library.textContent), (one) => one.charCodeAt(0));
  const unpacked = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  const script = document.createElement("script");
  script.textContent = await new Response(unpacked).text();

  // The page's policy takes no attribute that is a style, but the same as an object; and no style but the page's: that of
  // maps, which the library adds, styles nothing here.
  const [attribute, child] = [Element.prototype.setAttribute, Node.prototype.appendChild];
  Element.prototype.setAttribute = function (name, value) {
    if (name === "style") this.style.cssText = value;
    else attribute.call(this, name, value);
  };
  Node.prototype.appendChild = function (one) {
    return one.tagName === "STYLE" && one.textContent ? one : child.call(this, one);
  };
  document.head.append(script);
  Node.prototype.appendChild = child;

  // Makes a figure narrower. What stands left and right of its panels keeps its width.
  const narrow = (layout, width) => {
    const axes = Object.entries(layout).filter(([name]) => /^xaxis/.test(name)).map(([, axis]) => axis);
    const [before, after] = [layout.width - layout.margin.r, width - layout.margin.r];
    const left = Math.min(...axes.map((axis) => axis.domain[0])) * before;
    const right = (1 - Math.max(...axes.map((axis) => axis.domain[1]))) * before;
    const part = (after - left - right) / (before - left - right);
    for (const axis of axes) axis.domain = axis.domain.map((at) => (left + (at * before - left) * part) / after);
    layout.width = width;
  };

  // Moves the rows that panels share: row order[i] to place i.
  const sort = (plot, figure, order) => {
    const place = [];
    order.forEach((row, index) => (place[row] = index));
    const moved = (y) => (y === null ? null : place[Math.round(y)] + (y - Math.round(y)));
    const shared = (axis) => figure.rows.includes(axis);
    const layout = { annotations: figure.layout.annotations.map((note) =>
      shared(note.yref) ? { ...note, y: moved(note.y) } : note) };
    for (const name of figure.rows.map((axis) => axis.replace("y", "yaxis")))
      layout[name + ".ticktext"] = order.map((row) => figure.layout[name].ticktext[row]);
    Plotly.update(plot, { y: figure.data.map((trace) => (shared(trace.yaxis) ? trace.y.map(moved) : trace.y)) }, layout);
  };

  const draw = async (box) => {
    const figure = JSON.parse(box.querySelector("script").textContent);
    const plot = document.createElement("div");
    plot.className = "plot";
    const names = Object.keys(figure.sorts);
    if (names.length) {
      const choice = document.createElement("select");
      for (const name of ["as drawn", ...names]) choice.append(new Option(name, name));
      choice.onchange = () =>
        sort(plot, figure, figure.sorts[choice.value] ?? figure.sorts[names[0]].map((_, index) => index));
      const label = document.createElement("label");
      label.append("sorted by", choice);
      box.append(label);
    }
    box.append(plot);
    box.parentElement.classList.add("answers");
    narrow(figure.layout, Math.min(figure.layout.width, Math.max(860, box.clientWidth)));
    const part = box.clientWidth / figure.layout.width;
    if (part < 1) {  // a narrow window shows all of it, smaller
      plot.style.width = `${figure.layout.width}px`;
      plot.style.transform = `scale(${part})`;
      plot.style.transformOrigin = "0 0";
      plot.style.marginBottom = `${(part - 1) * figure.layout.height}px`;
      box.style.overflow = "hidden";
    }
    if (matchMedia("(pointer: coarse)").matches) figure.layout.dragmode = false;  // a finger scrolls the page
    await Plotly.newPlot(plot, structuredClone(figure.data), structuredClone(figure.layout),
      { displaylogo: false, modeBarButtons: [["zoom2d", "pan2d", "zoomIn2d", "zoomOut2d", "resetScale2d"]] });
    // A name beside a line is hidden and shown with it.
    plot.on("plotly_restyle", () => {
      const hidden = new Set(plot.data.filter((trace) => trace.visible === "legendonly").map((trace) => trace.legendgroup));
      const notes = plot.layout.annotations.map((note) => ({ ...note, visible: !hidden.has(note.name) }));
      Plotly.relayout(plot, { annotations: notes });
    });
  };

  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((one) => one.isIntersecting)) {
      seen.unobserve(entry.target);
      draw(entry.target.querySelector(".live")).catch(console.error);
    }
  }, { rootMargin: "600px" });
  for (const box of document.querySelectorAll(".live")) seen.observe(box.parentElement);
})();
