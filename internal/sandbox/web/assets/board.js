// Draws every node with its GPUs, and the pods on them, at the playhead.

class Board {
  constructor(app) {
    this.app = app;
    this.canvas = el('canvas', {role: 'img', class: 'board'});
    this.node = el('div', {class: 'board-box'}, this.canvas);
    this.hits = [];
    const at = (e) => {
      const box = this.canvas.getBoundingClientRect();
      const x = e.clientX - box.left, y = e.clientY - box.top;
      return this.hits.find((h) => x >= h.x && x < h.x + h.w && y >= h.y && y < h.y + h.h);
    };
    const tip = (e) => {
      const hit = at(e);
      if (hit) showTip(e.clientX, e.clientY, hit.lines());
      else hideTip();
    };
    this.canvas.addEventListener('pointermove', (e) => { if (e.pointerType === 'mouse') tip(e); });
    this.canvas.addEventListener('pointerleave', hideTip);
    this.canvas.addEventListener('click', (e) => {
      const hit = at(e);
      this.app.pick(hit && hit.job);
      tip(e);
    });
  }

  // layout finds the widest slots with which all nodes fit a height.
  layout() {
    const width = this.node.clientWidth;
    const {model} = this.app;
    const most = Math.max(1, ...model.gpuNodes.map((node) => node.gpus));
    const racks = groupBy(model.gpuNodes, (node) => (node.block || '') + '\n' + (node.rack || ''));
    const limit = width < 560 ? 640 : 540;
    for (const least of [12, 7, 3]) {
      for (let slotW = 170; slotW >= 9; slotW--) {
        const rows = this.place(racks, most, slotW, 10, width).rows;
        const slotH = Math.min(24, Math.floor((limit / rows - 46) / most));
        if (slotH >= least || (least === 3 && slotW === 9)) return this.place(racks, most, slotW, Math.max(5, slotH), width);
      }
    }
  }

  place(racks, most, slotW, slotH, width) {
    const gap = slotW > 24 ? 8 : slotW > 14 ? 5 : 3, rackGap = 18, head = 20, foot = slotW > 13 ? 16 : 6;
    const nodeH = most * slotH;
    const rowH = head + nodeH + foot + 10;
    const nodes = new Map(), labels = [];
    let x = 0, y = 0, rows = 1;
    for (const [name, list] of racks) {
      const rackW = list.length * (slotW + gap) - gap;
      if (x > 0 && x + rackW > width) { x = 0; y += rowH; rows++; }
      labels.push({text: name.split('\n').filter(Boolean).join(' · '), x, y: y + 12, w: Math.min(rackW, width - x)});
      for (const node of list) {
        if (x > 0 && x + slotW > width) { x = 0; y += rowH; rows++; }
        nodes.set(node.name, {node, x, y: y + head, w: slotW, h: nodeH, first: node === list[0]});
        x += slotW + gap;
      }
      x += rackGap - gap;
    }
    return {nodes, labels, slotW, slotH, foot, height: y + rowH, rows};
  }

  draw() {
    const {app} = this, {model, playhead} = app;
    const t = playhead.time;
    if (this.laidFor !== model || this.laidWidth !== this.node.clientWidth) {
      this.lay = this.layout();
      this.laidFor = model;
      this.laidWidth = this.node.clientWidth;
    }
    const lay = this.lay;
    const cpuNodes = model.rec.nodes.filter((node) => !node.gpus && model.nodePods.has(node.name));
    const height = lay.height + (cpuNodes.length ? 26 : 0);
    const g = sizeCanvas(this.canvas, this.node.clientWidth, height);
    this.ink = cssColor('--ink-soft');
    this.slotColor = cssColor('--slot');
    this.ground = cssColor('--ground');
    this.bad = cssColor('--bad');
    this.font = cssColor('--font');
    this.stripeCache = new Map();
    this.hits = [];

    g.font = '11px ' + this.font;
    g.fillStyle = this.ink;
    for (const label of lay.labels) g.fillText(this.fit(g, label.text, label.w), label.x, label.y);
    for (const place of lay.nodes.values()) this.drawNode(g, place, t);
    if (cpuNodes.length) this.drawHeads(g, cpuNodes, t, lay.height);
  }

  drawNode(g, place, t) {
    const {model} = this.app, {slotH, slotW} = this.lay, {node} = place;
    const away = model.awayAt(node, t);
    g.fillStyle = this.slotColor;
    g.beginPath();
    for (let i = 0; i < node.gpus; i++) g.roundRect(place.x, place.y + place.h - (i + 1) * slotH + 1, slotW, slotH - 2, Math.min(2.5, slotH / 2 - 1));
    g.fill();
    const held = [];
    let count = 0;
    for (const pod of model.nodePods.get(node.name) || []) {
      if (!pod.gpus || pod.bound > t || t >= model.goneAt(pod)) continue;
      held.push(pod);
      count += pod.gpus;
      for (const [from, n] of runs(pod.slots)) this.drawPod(g, place, pod, from, n, t);
    }
    if (away) {
      g.save();
      g.globalAlpha = 0.75;
      g.fillStyle = stripes(g, this.bad, 'rgba(0,0,0,0)');
      g.globalAlpha = 0.35;
      g.fillRect(place.x, place.y + place.h - node.gpus * slotH, slotW, node.gpus * slotH);
      g.restore();
    }
    if (slotW > 13) {
      g.font = '10.5px ' + this.font;
      g.fillStyle = away || count > node.gpus ? this.bad : this.ink;
      const text = away ? (slotW > 34 ? away.why : '✕') : slotW > 42 ? node.name : node.name.replace(/^.*[^0-9](?=[0-9]+$)/, '');
      // Half a number says nothing: where there is no room for each, the first
      // of a rack has all of it.
      const fits = slotW > 42 || g.measureText(text).width <= slotW + 2;
      const shown = fits ? this.fit(g, text, slotW + 4) : place.first ? text : '';
      const left = fits ? (slotW - g.measureText(shown).width) / 2 : 0;
      g.fillText(shown, place.x + left, place.y + place.h + 12);
    }
    // The pods come before their node: the first hit counts.
    this.hits.push({
      x: place.x, y: place.y, w: slotW, h: place.h + this.lay.foot,
      lines: () => [node.name, `${count} of ${node.gpus} GPUs held`, away ? `${away.why} since ${this.app.clock(away.from)}` : '', ...held.map((pod) => `${pod.gpus} ${pod.job || OUTSIDE}`)].filter(Boolean),
    });
  }

  drawPod(g, place, pod, from, n, t) {
    const {app} = this, {model} = app, {slotH, slotW} = this.lay;
    const key = model.key(app.by, pod);
    const color = model.colors.of(app.by, key);
    const phase = model.phase(pod, t);
    const faded = app.picked && pod.job !== app.picked;
    const x = place.x, h = n * slotH - 2, y = place.y + place.h - (from + n) * slotH + 1;
    g.globalAlpha = (faded ? 0.22 : 1) * (phase === 'starting' ? 0.5 : 1);
    g.fillStyle = phase === 'draining' ? this.striped(g, color) : color;
    this.box(g, x, y, slotW, h, 3);
    if (phase === 'starting' || phase === 'draining') {
      g.globalAlpha = faded ? 0.22 : 1;
      g.strokeStyle = color;
      g.lineWidth = 1.5;
      this.outline(g, x + 0.75, y + 0.75, slotW - 1.5, h - 1.5, 2.5);
    }
    if (phase === 'unready' || from + n > place.node.gpus) {
      g.strokeStyle = this.bad;
      g.lineWidth = 2;
      this.outline(g, x + 1, y + 1, slotW - 2, h - 2, 2.5);
    }
    if (slotW > 30 && h > 11 && phase === 'ready') {
      g.font = '600 10px ' + this.font;
      g.fillStyle = inkOn(g, color);
      const text = this.fit(g, key, slotW - 6);
      if (text.length > 1) g.fillText(text, x + 4, y + Math.min(h, 13) / 2 + 3.5);
    }
    g.globalAlpha = 1;
    this.hits.push({x, y, w: slotW, h, job: pod.job, lines: () => this.describe(pod, phase, t)});
  }

  describe(pod, phase, t) {
    const {app} = this;
    const job = app.model.jobs.get(pod.job) || {};
    const phases = {draining: `stops since ${app.clock(pod.stopping)}, still holds its GPUs`, starting: 'starts', unready: 'is not ready', ready: `ready for ${fmtDuration((t - pod.ready) * app.model.scale)}`};
    return [pod.job || OUTSIDE, pod.name, `${plural(pod.gpus, 'GPU')} on ${pod.node}`, [job.priority, job.class].filter(Boolean).join(' · '), phases[phase]].filter(Boolean);
  }

  // drawHeads draws a dot for each pod on nodes without GPUs.
  drawHeads(g, nodes, t, y) {
    const {app} = this, {model} = app;
    g.font = '11px ' + this.font;
    g.fillStyle = this.ink;
    const caption = 'on CPU nodes';
    g.fillText(caption, 0, y + 14);
    let x = g.measureText(caption).width + 12;
    for (const node of nodes) {
      for (const pod of model.nodePods.get(node.name) || []) {
        if (pod.bound > t || t >= model.goneAt(pod) || x > this.node.clientWidth - 8) continue;
        g.fillStyle = model.colors.of(app.by, model.key(app.by, pod));
        g.globalAlpha = app.picked && pod.job !== app.picked ? 0.22 : 1;
        g.beginPath();
        g.arc(x, y + 10, 4.5, 0, 7);
        g.fill();
        g.globalAlpha = 1;
        const phase = model.phase(pod, t);
        this.hits.push({x: x - 6, y: y + 2, w: 12, h: 16, job: pod.job, lines: () => [pod.job || OUTSIDE, pod.name, 'on ' + node.name, phase]});
        x += 13;
      }
    }
  }

  striped(g, color) {
    if (!this.stripeCache.has(color)) this.stripeCache.set(color, stripes(g, color, this.ground));
    return this.stripeCache.get(color);
  }

  box(g, x, y, w, h, r) {
    g.beginPath();
    g.roundRect(x, y, w, h, Math.min(r, h / 2));
    g.fill();
  }

  outline(g, x, y, w, h, r) {
    g.beginPath();
    g.roundRect(x, y, w, h, Math.min(r, Math.max(0, h / 2)));
    g.stroke();
  }

  fit(g, text, width) {
    if (g.measureText(text).width <= width) return text;
    let low = 0, high = text.length;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (g.measureText(text.slice(0, mid) + '…').width <= width) low = mid;
      else high = mid - 1;
    }
    return low ? text.slice(0, low) + '…' : '';
  }
}

// runs joins neighbouring slots: pairs of the first and how many.
const runs = (slots) => {
  const list = [];
  for (const slot of slots || []) {
    const last = list[list.length - 1];
    if (last && last[0] + last[1] === slot) last[1]++;
    else list.push([slot, 1]);
  }
  return list;
};
