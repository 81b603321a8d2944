// Colours of jobs, priorities and classes, for light and dark.

const palette = {
  light: ['#2f6fde', '#d9591c', '#1b8f60', '#a8438f', '#9a7000', '#0b8499', '#7352d8', '#cc3349', '#587318', '#865a3c'],
  dark: ['#6ea1ff', '#ff9a62', '#4fd09a', '#e38bd0', '#e6bd4a', '#4fc6da', '#a893ff', '#ff7f8c', '#a9c765', '#cfa488'],
};

// isDark is what readTheme has read: asking for each pod would take long.
let dark = false;
const isDark = () => dark;
const readTheme = () => {
  const chosen = document.documentElement.dataset.theme;
  dark = chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};

// hues of the priorities, the most important first.
const hues = [14, 217, 152, 285, 45, 190];

// Colors gives each job, priority and class its colour. Few jobs get colours
// that are far apart; many get shades of their priority's colour.
class Colors {
  constructor(model) {
    this.model = model;
    this.known = new Map();
    this.jobIndex = new Map();
    const seen = new Map();
    for (const job of model.rec.jobs) {
      const nth = seen.get(job.priority) || 0;
      seen.set(job.priority, nth + 1);
      this.jobIndex.set(job.name, {index: this.jobIndex.size, nth});
    }
  }

  of(by, key) {
    const name = `${dark} ${by} ${key}`;
    let color = this.known.get(name);
    if (!color) this.known.set(name, color = this.choose(by, key));
    return color;
  }

  choose(by, key) {
    const colors = palette[isDark() ? 'dark' : 'light'];
    if (key === OUTSIDE) return isDark() ? '#8b949e' : '#6e7781';
    if (by === 'priority') return this.shade(this.model.priorities.indexOf(key), 0);
    if (by === 'class') return colors[Math.max(0, this.model.classes.indexOf(key)) % colors.length];
    const place = this.jobIndex.get(key);
    if (!place) return colors[0];
    if (this.jobIndex.size <= colors.length) return colors[place.index];
    const job = this.model.jobs.get(key);
    return this.shade(this.model.priorities.indexOf(job.priority || NONE), place.nth);
  }

  shade(family, nth) {
    const hue = hues[Math.max(0, family) % hues.length];
    const turn = (nth * 0.618034) % 1;
    const lift = nth === 0 ? 0.4 : (nth * 0.381966) % 1;
    const [low, high] = isDark() ? [54, 72] : [36, 54];
    return `hsl(${Math.round(hue + (nth === 0 ? 0 : (turn - 0.5) * 46))} 62% ${Math.round(low + (high - low) * lift)}%)`;
  }
}

// stripes is a pattern of diagonal lines over a colour.
const stripes = (g, color, ground) => {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 8;
  const t = tile.getContext('2d');
  t.fillStyle = ground;
  t.fillRect(0, 0, 8, 8);
  t.strokeStyle = color;
  t.lineWidth = 2.6;
  for (const x of [-4, 4, 12]) {
    t.beginPath();
    t.moveTo(x - 4, 8 + 4);
    t.lineTo(x + 8, -4 + 4);
    t.stroke();
  }
  return g.createPattern(tile, 'repeat');
};

// inkOn is black or white, whichever is easier to read on a colour.
const inkOn = (g, color) => {
  g.fillStyle = color;
  const hex = g.fillStyle;
  const [r, gr, b] = [1, 3, 5].map((i) => {
    const c = parseInt(hex.slice(i, i + 2), 16) / 255;
    return c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * gr + 0.0722 * b > 0.22 ? '#0b0e12' : '#ffffff';
};
