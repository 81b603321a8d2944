// Builds the page's elements. Text is always set as text, never as markup.

// A failure must not look like a page without content.
addEventListener('error', (e) => {
  document.body.dataset.failed = e.message;
  const note = document.createElement('p');
  note.className = 'failed';
  note.textContent = 'This page has failed: ' + e.message;
  document.body.prepend(note);
}, {once: true});

const el = (tag, props, ...children) => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'on') for (const [type, handler] of Object.entries(value)) node.addEventListener(type, handler);
    else if (name === 'style') for (const [key, v] of Object.entries(value)) node.style.setProperty(key, v);
    else if (name === 'class') node.className = value;
    else if (value === true) node.setAttribute(name, '');
    else node.setAttribute(name, String(value));
  }
  node.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return node;
};

// icon draws one of a few shapes; fonts lack some of them.
const iconPaths = {
  play: 'M4 2l10 6-10 6z', pause: 'M3 2h4v12H3zM9 2h4v12H9z',
  last: 'M3 2h2v12H3zM13 2v12L5.5 8z', next: 'M11 2h2v12h-2zM3 2v12l7.5-6z',
};
const icon = (name) => {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', iconPaths[name]);
  svg.append(path);
  return svg;
};

const byId = (id) => document.getElementById(id);

// fill replaces what an element holds.
const fill = (node, ...children) => {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return node;
};

// say tells readers of the screen what has changed.
const say = (text) => { byId('say').textContent = text; };

// sizeCanvas makes a canvas sharp at a size in CSS pixels and returns its
// context, cleared.
const sizeCanvas = (canvas, width, height) => {
  const ratio = Math.min(window.devicePixelRatio || 1, 3);
  const w = Math.max(1, Math.round(width * ratio)), h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
  }
  canvas.style.height = height + 'px';
  const g = canvas.getContext('2d');
  g.setTransform(ratio, 0, 0, ratio, 0, 0);
  g.clearRect(0, 0, width, height);
  g.lineWidth = 1;
  g.globalAlpha = 1;
  return g;
};

// cssColor is the value of a custom property of the theme.
const cssColor = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// showTip shows a text beside a point of the window; hideTip takes it away.
const showTip = (x, y, lines) => {
  const tip = byId('tip');
  fill(tip, lines.map((line, i) => el(i ? 'div' : 'strong', null, line)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = Math.max(6, Math.min(x + 14, innerWidth - box.width - 6)) + 'px';
  tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(6, y - box.height - 12) : y + 18) + 'px';
};
const hideTip = () => { byId('tip').hidden = true; };

const badge = (text, kind) => el('span', {class: 'badge ' + (kind || '')}, text);

// table builds a table from rows of cells; the first row is its head. Columns
// from the second on are numbers if they are named in numbers.
const table = (caption, rows, numbers) => {
  const cell = (tag, value, column, props) => el(tag, {class: numbers && numbers.includes(column) ? 'num' : undefined, ...props}, value);
  const [head, ...body] = rows;
  return el('div', {class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption}, el('table', null,
    el('caption', null, caption),
    el('thead', null, el('tr', null, head.map((value, i) => cell('th', value, i, {scope: 'col'})))),
    el('tbody', null, body.map((row) => el('tr', null, row.map((value, i) => i === 0 ? cell('th', value, i, {scope: 'row'}) : cell('td', value, i)))))));
};
