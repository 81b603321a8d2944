// Draws who held the GPUs over time, and below it what waited.

const chartLeft = 38, chartRight = 8;

// drawStack draws bins of several keys on top of each other, in steps.
const drawStack = (g, box, bins, keys, top, color) => {
  const n = keys.length ? bins.get(keys[0]).length : 0;
  if (!n || !top) return;
  const below = new Float64Array(n);
  const x = (i) => box.x + box.w * i / n;
  const y = (v) => box.y + box.h * (1 - Math.min(v / top, 1.08));
  for (const key of keys) {
    const bin = bins.get(key);
    g.beginPath();
    for (let i = 0; i < n; i++) {
      if (!bin[i]) continue;
      let j = i;
      const start = i;
      for (; j < n && bin[j]; j++) {
        const v = y(below[j] + bin[j]);
        if (j === start) g.moveTo(x(j), v);
        else g.lineTo(x(j), v);
        g.lineTo(x(j + 1), v);
      }
      for (let k = j - 1; k >= start; k--) {
        g.lineTo(x(k + 1), y(below[k]));
        g.lineTo(x(k), y(below[k]));
      }
      g.closePath();
      i = j - 1;
    }
    g.fillStyle = color(key);
    g.fill();
    for (let i = 0; i < n; i++) below[i] += bin[i];
  }
};

// stackOrder puts what matters most at the bottom: by priority, then by what
// started first.
const stackOrder = (model, by, keys) => {
  if (by === 'priority') return keys.sort(natural);
  if (by === 'class') return keys.sort((a, b) => model.classes.indexOf(a) - model.classes.indexOf(b));
  const rank = (key) => { const job = model.jobs.get(key); return job ? (job.priority || NONE) : 'zzz'; };
  const start = (key) => { const job = model.jobs.get(key); return job ? job.submitted : Infinity; };
  return keys.sort((a, b) => natural(rank(a), rank(b)) || start(a) - start(b));
};

class Chart {
  constructor(app) {
    this.app = app;
    this.canvas = el('canvas', {role: 'img', class: 'chart'});
    this.cursor = el('div', {class: 'cursor', 'aria-hidden': 'true'}, el('div', {class: 'cursor-label'}));
    this.node = el('div', {class: 'chart-box'}, this.canvas, this.cursor);
    this.node.addEventListener('pointerdown', (e) => {
      this.node.setPointerCapture(e.pointerId);
      this.scrub(e);
    });
    this.node.addEventListener('pointermove', (e) => {
      if (this.node.hasPointerCapture(e.pointerId)) return this.scrub(e);
      if (e.pointerType === 'mouse') this.hover(e);
    });
    this.node.addEventListener('pointerleave', hideTip);
  }

  timeOf(e) {
    const box = this.node.getBoundingClientRect();
    return (e.clientX - box.left - chartLeft) / (box.width - chartLeft - chartRight) * this.app.model.duration;
  }

  scrub(e) {
    hideTip();
    this.app.playhead.pause();
    this.app.playhead.seek(this.timeOf(e));
  }

  hover(e) {
    const {model, by} = this.app;
    const t = this.timeOf(e);
    if (t < 0 || t > model.duration) return hideTip();
    const {held, total} = model.heldAt(t, by);
    const top = [...held].sort((a, b) => b[1] - a[1]);
    const lines = [`${this.app.clock(t)}: ${total} of ${model.capacity} GPUs`, ...top.slice(0, 8).map(([key, gpus]) => `${gpus} ${key}`)];
    if (top.length > 8) lines.push(`and ${top.length - 8} more`);
    showTip(e.clientX, e.clientY, lines);
  }

  draw() {
    const {model, by, picked} = this.app;
    const width = this.node.clientWidth;
    const tall = width < 560 ? 150 : 190, low = 44, gap = 14;
    const height = tall + gap + low + 22;
    const g = sizeCanvas(this.canvas, width, height);
    const plot = {x: chartLeft, y: 8, w: width - chartLeft - chartRight, h: tall - 8};
    const strip = {x: chartLeft, y: tall + gap, w: plot.w, h: low};
    const n = Math.max(1, Math.floor(plot.w));
    const ink = cssColor('--ink-soft'), line = cssColor('--line'), ground = cssColor('--ground');

    g.font = '11px ' + cssColor('--font');
    const marks = ticks(model.duration * model.scale, Math.max(2, plot.w / 90));
    for (const t of marks.list) {
      const x = plot.x + plot.w * t / (model.duration * model.scale);
      g.fillStyle = line;
      g.fillRect(Math.round(x), plot.y, 1, height - 22 - plot.y);
      g.fillStyle = ink;
      const text = fmtTick(t, marks.step);
      const w = g.measureText(text).width;
      g.fillText(text, Math.min(Math.max(x - w / 2, plot.x), plot.x + plot.w - w), height - 6);
    }

    const bins = model.bins(by, n);
    const keys = stackOrder(model, by, [...bins.keys()]);
    drawStack(g, plot, bins, keys, model.capacity, (key) => this.tint(key, by, picked));
    for (const share of [1, 0.5]) {
      const y = Math.round(plot.y + plot.h * (1 - share)) + 0.5;
      g.strokeStyle = cssColor('--ink');
      g.globalAlpha = share === 1 ? 1 : 0.25;
      g.setLineDash(share === 1 ? [4, 4] : []);
      g.beginPath();
      g.moveTo(plot.x, y);
      g.lineTo(plot.x + plot.w, y);
      g.stroke();
      g.setLineDash([]);
      g.globalAlpha = 1;
      this.label(g, Math.round(model.capacity * share), y + 4, ink);
    }
    this.label(g, 0, plot.y + plot.h, ink);

    const waiting = model.waitingBins(n);
    const sums = new Float64Array(n);
    for (const bin of waiting.values()) bin.forEach((v, i) => { sums[i] += v; });
    const most = Math.max(1, ...sums);
    const order = [...waiting.keys()].sort(natural);
    drawStack(g, strip, waiting, order, most, (key) => model.colors.of('priority', key));
    g.fillStyle = line;
    g.fillRect(strip.x, strip.y + strip.h, strip.w, 1);
    this.label(g, Math.round(most), strip.y + 8, ink);
    g.fillStyle = ink;
    const caption = waiting.size ? 'GPUs that wait, by priority' : 'nothing waits';
    g.lineWidth = 4;
    g.strokeStyle = ground;
    g.lineJoin = 'round';
    g.strokeText(caption, strip.x + 4, strip.y + 10);
    g.fillText(caption, strip.x + 4, strip.y + 10);
    this.canvas.setAttribute('aria-label', `GPUs held over time by ${by}: on average ${fmtAmount(model.run.figures.meanGPUs)} of ${model.capacity}, at most ${model.run.figures.peakGPUs}; below it, the GPUs that wait.`);
    this.cursor.style.height = (height - 22) + 'px';
    this.move();
  }

  tint(key, by, picked) {
    const {model} = this.app;
    const color = model.colors.of(by, key);
    if (!picked || by !== 'job' || key === picked) return color;
    return cssColor('--dim');
  }

  label(g, text, y, ink) {
    g.fillStyle = ink;
    const w = g.measureText(text).width;
    g.fillText(text, chartLeft - 6 - w, y);
  }

  move() {
    const {model, playhead} = this.app;
    const share = playhead.time / model.duration;
    const plot = this.node.clientWidth - chartLeft - chartRight;
    this.cursor.style.transform = `translateX(${chartLeft + plot * share}px)`;
  }
}
