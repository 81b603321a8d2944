// A bar over time for each job; opened, its Workloads, pods and states.

const shownJobs = 20, shownPods = 80;

class Jobs {
  constructor(app) {
    this.app = app;
    this.all = false;
    this.opened = new Set();
    this.search = el('input', {type: 'search', placeholder: 'Find a job', 'aria-label': 'Find a job', on: {input: () => this.draw()}});
    this.filter = el('select', {'aria-label': 'Which jobs', on: {change: () => this.draw()}},
      [['all', 'all jobs'], ['waited', 'jobs that waited'], ['evicted', 'evicted jobs'], ['open', 'jobs without success']].map(([value, text]) => el('option', {value}, text)));
    this.list = el('ul', {class: 'jobs'});
    this.more = el('button', {type: 'button', on: {click: () => { this.all = !this.all; this.draw(); }}});
    fill(byId('jobs'),
      el('div', {class: 'stage-head'}, el('h2', null, 'Jobs over time'), el('div', {class: 'choice-plain'}, this.search, this.filter)),
      el('p', {class: 'legend', 'aria-hidden': 'true'}, ['held', 'pending', 'backing-off', 'draining'].map((kind) =>
        el('span', {class: 'swatch'}, el('i', {class: kind === 'held' ? 'ready' : kind}), {held: 'GPUs held', pending: 'waits', 'backing-off': 'backs off', draining: 'drains'}[kind]))),
      this.list, this.more);
    this.watcher = new IntersectionObserver((entries) => {
      for (const entry of entries) if (entry.isIntersecting) this.paint(entry.target);
    }, {rootMargin: '300px'});
    app.playhead.on((time) => this.list.style.setProperty('--at', time / app.model.duration));
  }

  wanted(job) {
    const {model} = this.app;
    const f = model.figures.get(job.name) || {};
    if (!job.name.toLowerCase().includes(this.search.value.toLowerCase())) return false;
    switch (this.filter.value) {
      case 'waited': return f.totalWait > 0.05 * model.scale;
      case 'evicted': return (f.evictions || []).length > 0;
      case 'open': return job.result !== 'Succeeded' || job.itemsDone < job.itemsTotal;
    }
    return true;
  }

  // The jobs of a live fleet are shown the youngest first.
  sorted() {
    const direction = this.app.live ? -1 : 1;
    return this.app.model.rec.jobs.filter((job) => this.wanted(job)).sort((a, b) => direction * (a.submitted - b.submitted));
  }

  signature(jobs) { return jobs.map((job) => job.name + '\t' + this.opened.has(job.name)).join('\n') + isDark() + this.app.picked; }

  // refresh brings the rows of a live fleet up to date and leaves them where
  // they are as long as they are the same.
  refresh() {
    const jobs = this.sorted();
    if (this.signature(this.all ? jobs : jobs.slice(0, shownJobs)) !== this.drawn) return this.draw();
    for (const item of this.list.children) if (item.update) item.update();
  }

  draw() {
    const {model} = this.app;
    const jobs = this.sorted();
    const shown = this.all ? jobs : jobs.slice(0, shownJobs);
    this.watcher.disconnect();
    this.drawn = this.signature(shown);
    fill(this.list, shown.length ? shown.map((job) => this.row(job)) : el('li', {class: 'more'}, 'No such job.'));
    this.more.hidden = jobs.length <= shownJobs;
    this.more.textContent = this.all ? `Show the first ${shownJobs}` : `Show all ${jobs.length}`;
    const bars = [...this.list.querySelectorAll('canvas')];
    bars.forEach((canvas) => this.watcher.observe(canvas));
    this.list.style.setProperty('--at', this.app.playhead.time / model.duration);
  }

  row(job) {
    const {app} = this, {model} = app;
    const bar = el('canvas', {class: 'bar', 'aria-hidden': 'true'});
    bar.job = job;
    bar.kind = 'bar';
    const open = this.opened.has(job.name);
    const detail = el('div', {class: 'job-detail', hidden: !open});
    const facts = el('div', {class: 'job-facts'});
    const result = el('span');
    const item = el('li', {class: app.picked && app.picked !== job.name ? 'dimmed' : undefined});
    item.update = () => {
      bar.job = app.model.jobs.get(job.name) || job;
      facts.textContent = this.facts(bar.job);
      const [text, kind] = this.result(bar.job);
      result.textContent = text;
      result.className = 'badge ' + kind;
      if (bar.parentNode && bar.parentNode.clientWidth && app.live) this.paintBar(bar, bar.job);
    };
    const name = el('button', {type: 'button', class: 'link', 'aria-expanded': String(open), on: {click: () => {
      const now = !this.opened.has(job.name);
      if (now) this.opened.add(job.name);
      else this.opened.delete(job.name);
      name.setAttribute('aria-expanded', String(now));
      detail.hidden = !now;
      if (now) this.detail(detail, job);
    }}}, el('span', {class: 'dot', style: {'--dot': model.colors.of('job', job.name)}}), job.name);
    if (open) this.detail(detail, job);
    item.append(
      el('div', {class: 'job-row'},
        el('div', {class: 'job-name'}, name, badge(job.priority || NONE), job.class ? badge(job.class) : null),
        el('div', {class: 'bar-box', on: {click: (e) => this.seek(e, bar)}}, bar),
        result), facts, detail);
    item.update();
    return item;
  }

  facts(job) {
    const {model} = this.app;
    const f = model.figures.get(job.name) || {};
    const time = gpuTime(model.run.figures.hours);
    return [
      f.totalWait > 0.005 ? 'waited ' + fmtDuration(f.totalWait) : '',
      f.peakGPUs ? `at most ${plural(f.peakGPUs, 'GPU')}` : '',
      f.gpuHours ? time.write(f.gpuHours) + ' ' + time.unit : '',
      f.grown ? `grown ${f.grown} ×` : '', f.shrunk ? `shrunk ${f.shrunk} ×` : '',
      (f.evictions || []).length ? `evicted ${f.evictions.length} ×` : '',
      job.itemsTotal ? `${job.itemsDone} of ${job.itemsTotal} items` : '',
      job.itemsRedone ? `${job.itemsRedone} started again` : '',
    ].filter(Boolean).join(' · ');
  }

  // result is what became of a job and how that is to be seen.
  result(job) {
    if (job.rejected || (this.app.model.figures.get(job.name) || {}).rejected) return ['rejected', 'bad'];
    if (!job.result) return ['unfinished', this.app.live ? '' : 'warn'];
    if (job.result !== 'Succeeded') return [job.result.toLowerCase(), 'bad'];
    return job.itemsDone < job.itemsTotal ? ['work missing', 'bad'] : ['succeeded', 'good'];
  }

  seek(e, canvas) {
    const box = canvas.getBoundingClientRect();
    this.app.playhead.pause();
    this.app.playhead.seek((e.clientX - box.left) / box.width * this.app.model.duration);
  }

  paint(canvas) {
    if (canvas.kind === 'bar') this.paintBar(canvas, canvas.job);
    else this.paintLanes(canvas, canvas.job);
  }

  x(t, width) { return (t === undefined ? this.app.model.duration : Math.min(t, this.app.model.duration)) / this.app.model.duration * width; }

  paintBar(canvas, job) {
    const {model} = this.app;
    const width = canvas.parentNode.clientWidth, height = 24;
    const g = sizeCanvas(canvas, width, height);
    const color = model.colors.of('job', job.name);
    const fills = this.fills(g);
    const workloads = model.workloadsOf.get(job.name) || [];
    for (const wl of workloads) {
      for (const span of wl.spans || []) {
        if (span.state === 'admitted' || span.state === 'done') continue;
        const x = this.x(span.from, width), w = Math.max(1, this.x(span.to, width) - x);
        g.fillStyle = fills[span.state];
        // A growth that waits is a line on top of what the job holds.
        if (wl.replaces && span.state === 'pending') g.fillRect(x, 0, w, 2);
        else g.fillRect(x, height - 9, w, 9);
      }
    }
    const pods = (model.podsOf.get(job.name) || []).filter((pod) => pod.gpus && pod.bound !== undefined);
    const n = Math.max(1, Math.floor(width));
    const bins = model.fillBins(pods.map((pod) => ['', pod.bound, Math.min(model.goneAt(pod), model.duration), pod.gpus]), n);
    if (bins.size) {
      const most = Math.max(...bins.get(''));
      drawStack(g, {x: 0, y: 3, w: width, h: height - 3}, bins, [''], most, () => color);
    } else {
      g.fillStyle = color;
      for (const wl of workloads) for (const span of wl.spans || []) if (span.state === 'admitted') g.fillRect(this.x(span.from, width), 6, Math.max(1, this.x(span.to, width) - this.x(span.from, width)), height - 6);
    }
    for (const wl of workloads) {
      for (const span of wl.spans || []) {
        if (span.state !== 'draining') continue;
        const x = this.x(span.from, width);
        g.fillStyle = cssColor('--bad');
        g.fillRect(x, 0, Math.max(2, this.x(span.to, width) - x), height);
      }
    }
  }

  fills(g) {
    const ground = cssColor('--ground');
    return {pending: cssColor('--wait'), 'backing-off': cssColor('--back'), inactive: cssColor('--bad'), draining: stripes(g, cssColor('--bad'), ground)};
  }

  detail(node, job) {
    const {model} = this.app;
    const canvas = el('canvas', {class: 'lanes', 'aria-hidden': 'true'});
    canvas.job = job;
    canvas.kind = 'lanes';
    const rows = [];
    for (const wl of model.workloadsOf.get(job.name) || []) {
      for (const span of wl.spans || []) rows.push({wl, span});
    }
    rows.sort((a, b) => a.span.from - b.span.from);
    const shown = rows.slice(0, 120);
    fill(node, job.rejected ? el('p', {class: 'why'}, job.rejected) : null,
      el('div', {class: 'lanes-box'}, canvas),
      table(`States of ${job.name}'s Workloads` + (rows.length > shown.length ? `, the first ${shown.length} of ${rows.length}` : ''), [
        ['From', 'State', 'GPUs', 'Why', 'Workload'],
        ...shown.map(({wl, span}) => [this.app.clock(span.from), span.state, span.gpus, [span.reason, span.message].filter(Boolean).join(': '), wl.name + (wl.group ? ` (${wl.group})` : '') + (wl.replaces ? ' replaces ' + wl.replaces : '')]),
      ], [2]));
    this.watcher.observe(canvas);
  }

  // paintLanes draws a lane for each Workload and, thinner, for each pod.
  paintLanes(canvas, job) {
    const {model} = this.app;
    const width = canvas.parentNode.clientWidth;
    const workloads = (model.workloadsOf.get(job.name) || []).slice(0, shownPods), pods = (model.podsOf.get(job.name) || []).slice(0, shownPods);
    // The lanes show the life of the job, not the whole run.
    const born = job.submitted, died = Math.max(born + 1e-3, ...pods.map((p) => Math.min(model.goneAt(p), model.duration)), job.finished === undefined ? model.duration : job.finished);
    const at = (t) => (Math.min(Math.max(t === undefined ? died : t, born), died) - born) / (died - born) * width;
    const slice = 11, pod = 6, top = 16;
    const second = top + workloads.length * slice + 20;
    const g = sizeCanvas(canvas, width, second + pods.length * pod + 6);
    const fills = this.fills(g), color = model.colors.of('job', job.name), ink = cssColor('--ink-soft');
    g.font = '11px ' + cssColor('--font');
    g.fillStyle = ink;
    g.fillText(plural(workloads.length, 'Workload') + ', one slice or group a lane', 0, 11);
    g.fillText(plural(pods.length, 'pod') + ', bound to gone', 0, second - 5);
    const life = `${this.app.clock(born)} to ${this.app.clock(died)}`;
    g.fillText(life, width - g.measureText(life).width, 11);
    workloads.forEach((wl, i) => {
      for (const span of wl.spans || []) {
        if (span.state === 'done') continue;
        const x = at(span.from);
        g.fillStyle = span.state === 'admitted' ? color : fills[span.state];
        g.fillRect(x, top + i * slice, Math.max(1.5, at(span.to) - x), slice - 3);
      }
    });
    pods.forEach((p, i) => {
      const y = second + i * pod;
      const part = (from, to, style) => {
        if (from === undefined) return;
        const x = at(from);
        g.fillStyle = style;
        g.fillRect(x, y, Math.max(1, at(to) - x), pod - 2);
      };
      part(p.created, p.bound, fills.pending);
      const end = p.stopping === undefined ? p.gone : p.stopping;
      g.globalAlpha = 0.45;
      part(p.bound, p.ready === undefined ? end : p.ready, color);
      g.globalAlpha = 1;
      if (p.ready !== undefined) part(p.ready, end, color);
      for (const u of p.unready || []) part(u.from, u.to, cssColor('--bad'));
      part(p.stopping, p.gone, cssColor('--bad'));
    });
  }
}
