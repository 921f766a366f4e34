/**
 * Writes the benchmark lines as tables to the pages of bench/results: `npm run bench > lines
 * && node bench/table.ts lines`. Workloads without lines keep their tables.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { cpus, loadavg, release, type } from 'node:os';
import { join } from 'node:path';

type Line = Readonly<Record<string, unknown>>;

const DOCUMENTS = ['performance.md', 'cost.md', 'scale.md'].map((name) => join(import.meta.dirname, 'results', name));

/** Shorter turns are omitted. */
const SHOWN_TURN_MS = 10;

/** Columns by section: heading and field. Lines with `scale` belong to scale.md. */
const SECTIONS: Readonly<
  Record<string, { readonly of: (line: Line) => boolean; readonly columns: Readonly<Record<string, string>> }>
> = {
  scheduling: {
    of: ({ cpuMilliseconds, cpuCompatible, allocationMs }) =>
      cpuMilliseconds !== undefined && cpuCompatible === undefined && allocationMs === undefined,
    columns: {
      workload: 'workload',
      'pods placed': 'pods',
      'nodes launched': 'nodes',
      ms: 'milliseconds',
      'CPU ms': 'cpuMilliseconds',
      'pods/s': 'podsPerSecond',
      '× reference': 'timesReference',
      'USD/h': 'usdPerHour',
      'heap MB': 'heapMb',
    },
  },
  preferences: {
    of: ({ timesRespect }) => timesRespect !== undefined,
    columns: {
      workload: 'workload',
      pods: 'pods',
      'nodes of Ignore / Priced / Respect': 'nodesByPolicy',
      'USD/h': 'usdByPolicy',
      'CPU ms': 'cpuMsByPolicy',
      '× Respect': 'timesRespect',
    },
  },
  devices: {
    of: ({ allocationMs }) => allocationMs !== undefined,
    columns: {
      workload: 'workload',
      pods: 'pods',
      'published devices': 'devices',
      'nodes launched': 'nodes',
      'CPU ms': 'cpuMilliseconds',
      'ms for devices': 'allocationMs',
    },
  },
  packing: {
    of: ({ usdBound }) => usdBound !== undefined,
    columns: {
      case: 'workload',
      pods: 'pods',
      nodes: 'nodes',
      ms: 'milliseconds',
      'USD/h': 'usdPerHour',
      'compatible packing': 'usdCompatible',
      'lower bound': 'usdBound',
      'over the bound': 'overBound',
    },
  },
  wide: {
    of: ({ cpuCompatible }) => cpuCompatible !== undefined,
    columns: {
      cluster: 'workload',
      pods: 'pods',
      nodes: 'nodes',
      'nodes of compatible': 'nodesCompatible',
      'USD/h': 'usdPerHour',
      '× price of compatible': 'timesPrice',
      'CPU ms': 'cpuMilliseconds',
      'CPU ms of compatible': 'cpuCompatible',
    },
  },
  costs: {
    of: ({ timesNodes }) => timesNodes !== undefined,
    columns: {
      scenarios: 'scenarios',
      packing: 'way',
      pods: 'pods',
      nodes: 'nodes',
      'instances, USD/h': 'usdInstances',
      '× nodes of compatible': 'timesNodes',
      '× price of compatible': 'timesPrice',
      'price over the lower bound': 'overLeast',
    },
  },
  operator: {
    of: ({ answerMs, scale }) => answerMs !== undefined && !scale,
    columns: {
      nodes: 'nodes',
      pods: 'pods',
      'RSS MB': 'rssMb',
      'heap MB': 'heapMb',
      'answer ms': 'answerMs',
      'longest ms': 'longestAnswerMs',
      'first ms': 'firstAnswerMs',
      'event loop held up, p95 / max ms': 'blockMs',
      'the same while listing': 'listingBlockMs',
    },
  },
  day: {
    of: ({ setUpMb }) => setUpMb !== undefined,
    columns: {
      workload: 'workload',
      hours: 'hours',
      'limit MiB': 'limitMb',
      'RSS MB': 'rssMb',
      'during launches': 'setUpMb',
      'second hour': 'secondHourMb',
      'last hour': 'lastHourMb',
      growth: 'growth',
      'rested after the second': 'secondRestMb',
      'after the last': 'lastRestMb',
      'CPU s in an hour': 'cpuSecondsPerHour',
      series: 'series',
      'nodes launched': 'nodesBought',
      'real s': 'realSeconds',
    },
  },
  load: {
    of: ({ rssMib }) => rssMib !== undefined,
    columns: {
      scenario: 'workload',
      'ready s': 'readyS',
      'first NodeClaim s': 'firstClaimS',
      'all bound s': 'boundS',
      'all removed s': 'goneS',
      nodes: 'nodes',
      'USD/h': 'usdPerHour',
      'CPU s': 'cpuS',
      'RSS MiB': 'rssMib',
    },
  },
  'cluster-life': {
    of: ({ life }) => life !== undefined,
    columns: {
      settings: 'life',
      seed: 'seed',
      minutes: 'minutes',
      USD: 'usd',
      'node hours': 'nodeHours',
      'nodes launched': 'launched',
      'of these in a second round': 'secondRound',
      evictions: 'evictions',
      'waiting p50 s': 'waitingP50S',
      'waiting p95 s': 'waitingP95S',
      'ended pods of Jobs': 'done',
      'lost CPU s of Jobs': 'lostCpuS',
      'CPU s': 'operatorCpuS',
      'RSS MiB': 'operatorMib',
    },
  },
  disruption: {
    of: ({ methodMs, scale }) => methodMs !== undefined && !scale,
    columns: {
      workload: 'workload',
      pass: 'pass',
      nodes: 'nodes',
      pods: 'pods',
      ms: 'milliseconds',
      'CPU ms': 'cpuMs',
      'empty / static / drift / multi / single / swap ms': 'methodMs',
      'event loop held up ms': 'blockMs',
      'of that CPU ms': 'blockCpuMs',
    },
  },
  consolidation: {
    of: ({ usdThorough }) => usdThorough !== undefined,
    columns: {
      workload: 'workload',
      clusters: 'clusters',
      'USD/h before': 'usdBefore',
      compatible: 'usdCompatible',
      thorough: 'usdThorough',
      'cheaper by': 'savedMore',
      'commands, compatible / thorough': 'commands',
      'pods moved, compatible / thorough': 'podsMoved',
    },
  },
  'scale-operator': {
    of: ({ answerMs, scale }) => answerMs !== undefined && scale === true,
    columns: {
      nodes: 'nodes',
      pods: 'pods',
      'RSS MB': 'rssMb',
      'heap of the main thread MB': 'heapMb',
      'first list s': 'listedS',
      'of that CPU s': 'listedCpuS',
      'first answer s': 'firstAnswerS',
      'answer ms': 'answerMs',
      'event loop held up, p95 / max ms': 'blockMs',
    },
  },
  'scale-disruption': {
    of: ({ methodMs, scale }) => methodMs !== undefined && scale === true,
    columns: {
      nodes: 'nodes',
      pods: 'pods',
      round: 'pass',
      ms: 'milliseconds',
      'CPU ms': 'cpuMs',
      'CPU of the longest turn ms': 'blockCpuMs',
    },
  },
  'scale-turns': {
    of: ({ path, longestTurnMs }) => path !== undefined && Number(longestTurnMs) >= SHOWN_TURN_MS,
    columns: { path: 'path', input: 'input', 'CPU of the longest turn ms': 'longestTurnMs', 'CPU ms': 'cpuMs' },
  },
  'scale-scrape': {
    of: ({ scrapeCpuMs }) => scrapeCpuMs !== undefined,
    columns: {
      nodes: 'nodes',
      pods: 'pods',
      series: 'series',
      MB: 'mb',
      'CPU ms': 'scrapeCpuMs',
      'CPU of the longest turn ms': 'turnCpuMs',
    },
  },
};

function textOf(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'object' && value !== null) return Object.values(value).join(' / ');
  return typeof value === 'number' ? value.toLocaleString('en-US') : String(value);
}

function tableOf(lines: readonly Line[], columns: Readonly<Record<string, string>>): string {
  const rows = lines.map((line) => Object.values(columns).map((field) => textOf(line[field])));
  const heads = Object.keys(columns);
  const rule = heads.map((_, at) => (at === 0 ? '---' : '---:'));
  return [heads, rule, ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

const machine = (): string => {
  const [processor] = cpus();
  const date = new Date().toISOString().slice(0, 10);
  // A busy machine increases wall times, and CPU times slightly.
  const load = `load average ${(loadavg()[2] ?? 0).toFixed(1)} over the last 15 minutes`;
  return `${date}, Node ${process.versions.node}, ${cpus().length} × ${processor?.model ?? 'CPU'}, ${type()} ${release()}, ${load}`;
};

const [path] = process.argv.slice(2);
const lines = readFileSync(path ?? 0, 'utf8')
  .split('\n')
  .filter((text) => text.startsWith('{'))
  .map((text) => JSON.parse(text) as Line);
for (const document of DOCUMENTS) {
  let text = readFileSync(document, 'utf8');
  for (const [section, { of, columns }] of Object.entries(SECTIONS)) {
    const own = lines.filter(of);
    if (own.length === 0) continue;
    const place = new RegExp(`(<!-- ${section} -->\n)[^]*?(<!-- /${section} -->)`);
    text = text.replace(
      place,
      (_, start: string, end: string) => `${start}\n${machine()}\n\n${tableOf(own, columns)}\n\n${end}`,
    );
  }
  writeFileSync(document, text);
}
