/** Report of `npm run bench -- life`: one row for each kind of cluster, and geometric means of the ratios of all kinds. */
import { amount, dollars, percent, signedPercent, spanText } from '#cli/testing';
import type { LifeAmount } from '#replay/run';
import type { Life } from './kinds.ts';
import { logRatio, meanOf, type Ratio, ratioFrom } from './ratios.ts';
import type { LifeResult } from './runs.ts';
import { REFERENCES } from './settings.ts';

export const BEGIN = '<!-- life -->';
export const END = '<!-- /life -->';

interface Column {
  readonly title: string;
  readonly amount: LifeAmount;
  /** Added to both sides of a ratio, because the amount may be 0. */
  readonly added: number;
  readonly text: (value: number) => string;
}

/** Amounts besides the cost. */
const COLUMNS: readonly Column[] = [
  { title: 'evictions', amount: 'evictions', added: 1, text: amount },
  { title: 'p95 waiting', amount: 'waitingP95', added: 1, text: spanText },
  { title: 'hours waiting', amount: 'waitingPodHours', added: 0.01, text: amount },
];

/** Results of the lives that all settings finished. */
export class Results {
  readonly settings: readonly string[];
  /** By kind and number of the life, one result for each setting. */
  readonly #lives: ReadonlyMap<string, ReadonlyMap<number, readonly LifeResult[]>>;

  /** @param settings names. All ratios are relative to the first setting. */
  constructor(results: readonly LifeResult[], settings: readonly string[]) {
    this.settings = settings;
    const finished = results.filter(({ figures }) => figures !== undefined);
    this.#lives = new Map(
      [...Map.groupBy(finished, ({ kind }) => kind)].map(([kind, ofKind]) => {
        const lives = [...Map.groupBy(ofKind, ({ life }) => life.number)].map(([number, same]) => {
          const inOrder = settings.flatMap((name) => same.find(({ setting }) => setting === name) ?? []);
          return [number, inOrder] as const;
        });
        return [kind, new Map(lives.filter(([, { length }]) => length === settings.length))] as const;
      }),
    );
  }

  get kinds(): readonly string[] {
    return [...this.#lives].flatMap(([kind, lives]) => (lives.size === 0 ? [] : [kind]));
  }

  livesOf(kind: string, isWanted: (life: Life) => boolean = () => true): readonly (readonly LifeResult[])[] {
    const lives = [...(this.#lives.get(kind)?.values() ?? [])];
    return lives.filter(([first]) => first !== undefined && isWanted(first.life));
  }
}

const figureOf = (result: LifeResult | undefined, of: LifeAmount): number => result?.figures?.[of] ?? 0;

/** Indexes of two settings: the numerator and the denominator of a ratio. */
interface Sides {
  readonly own: number;
  readonly first: number;
}

/** Returns the ratio of the costs over the lives of one kind. */
function costRatio(lives: readonly (readonly LifeResult[])[], { own, first }: Sides): Ratio {
  return ratioFrom(
    lives.map((life) => logRatio({ own: figureOf(life[own], 'usd'), first: figureOf(life[first], 'usd') }, 0)),
  );
}

const ratioOfMeans = (lives: readonly (readonly LifeResult[])[], { own, first }: Sides, column: Column): number =>
  logRatio(
    {
      own: meanOf(lives.map((life) => figureOf(life[own], column.amount))),
      first: meanOf(lives.map((life) => figureOf(life[first], column.amount))),
    },
    column.added,
  );

/** Index of the setting with Karpenter's consolidation with the lowest costs, as a geometric mean over the lives. */
function cheaperReference(results: Results, lives: readonly (readonly LifeResult[])[]): number | undefined {
  const references = results.settings.flatMap((name, index) => (REFERENCES.includes(name) ? [index] : []));
  return references.toSorted(
    (a, b) => costRatio(lives, { own: a, first: 0 }).mean - costRatio(lives, { own: b, first: 0 }).mean,
  )[0];
}

/** Index of the first setting that is compared with the references. */
const subjectOf = ({ settings }: Results): number | undefined => {
  const index = settings.findIndex((name) => !REFERENCES.includes(name));
  return index < 0 ? undefined : index;
};

export interface KindVerdict {
  readonly kind: string;
  /** Setting with Karpenter's consolidation and the lower cost. */
  readonly beside: string;
  readonly cost: Ratio;
  /** Ratio of the mean evictions to the first setting. */
  readonly evictions: number;
}

/** Compares the first setting of ours with the cheaper of Karpenter's settings in each kind, the highest ratio first. */
export function verdictsOf(results: Results): readonly KindVerdict[] {
  const own = subjectOf(results);
  if (own === undefined) return [];
  const verdicts = results.kinds.flatMap((kind): KindVerdict | [] => {
    const lives = results.livesOf(kind);
    const first = cheaperReference(results, lives);
    if (first === undefined) return [];
    const evictions = Math.exp(ratioOfMeans(lives, { own, first: 0 }, COLUMNS[0] as Column));
    return { kind, beside: results.settings[first] ?? '', cost: costRatio(lives, { own, first }), evictions };
  });
  return verdicts.toSorted((a, b) => b.cost.mean - a.cost.mean);
}

function ratioText({ mean, interval }: Ratio): string {
  const text = signedPercent(mean - 1);
  return interval === undefined
    ? text
    : `${text} (${signedPercent(interval[0] - 1)} to ${signedPercent(interval[1] - 1)})`;
}

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** Returns how far the costs of a kind are above the lower bound in the lives that have one, and the idle share of the CPUs. */
export function boundTable(results: Results, titles: Readonly<Record<string, string>>): string {
  const names = results.settings.map((name) => titles[name] ?? name);
  const head = [
    'kind of cluster',
    ...names.map((name) => `above the bound: ${name}`),
    ...names.map((name) => `idle: ${name}`),
  ];
  const rows = results.kinds.flatMap((kind) => {
    const lives = results.livesOf(kind).filter(([first]) => first?.lowestUsd !== undefined);
    if (lives.length === 0) return [];
    const above = names.map((_, index) => {
      const ratios = lives.map((life) =>
        logRatio({ own: figureOf(life[index], 'usd'), first: life[0]?.lowestUsd ?? 0 }, 0),
      );
      return signedPercent(ratioFrom(ratios).mean - 1);
    });
    const idle = names.map((_, index) => percent(meanOf(lives.map((life) => life[index]?.idleCpu ?? 0))));
    return [[kind, ...above, ...idle]];
  });
  return [line(head), `|---|${'---:|'.repeat(head.length - 1)}`, ...rows.map(line)].join('\n');
}

/** @param titles of the settings by name */
export function lifeTable(results: Results, titles: Readonly<Record<string, string>>): string {
  const names = results.settings.map((name) => titles[name] ?? name);
  const [first = '', ...others] = names;
  const own = subjectOf(results);
  const hasCheaper = own !== undefined && results.settings.some((name) => REFERENCES.includes(name));
  const head = [
    'kind of cluster',
    `cost: ${first}`,
    ...others,
    ...(hasCheaper ? [`${names[own]} to the cheaper of Karpenter's`] : []),
    ...COLUMNS.map(({ title }) => `${title}: ${names.map((_, index) => 'ABCDEFGH'[index]).join(' / ')}`),
    'lives',
  ];
  const verdicts = new Map(verdictsOf(results).map((verdict) => [verdict.kind, verdict]));
  const rows = results.kinds.map((kind) => {
    const lives = results.livesOf(kind);
    const verdict = verdicts.get(kind);
    return [
      kind,
      dollars(meanOf(lives.map(([reference]) => figureOf(reference, 'usd')))),
      ...others.map((_, index) => ratioText(costRatio(lives, { own: index + 1, first: 0 }))),
      ...(hasCheaper ? [verdict === undefined ? '–' : ratioText(verdict.cost)] : []),
      ...COLUMNS.map(({ amount: of, text }) =>
        names.map((_, index) => text(meanOf(lives.map((life) => figureOf(life[index], of))))).join(' / '),
      ),
      String(lives.length),
    ];
  });
  const together = groupsOf(results).map(({ name, isWanted }) =>
    togetherRow(results, name, isWanted, hasCheaper ? own : undefined),
  );
  return [line(head), `|${'---|'.repeat(head.length)}`, ...[...together, ...rows].map(line)].join('\n');
}

interface Group {
  readonly name: string;
  isWanted(life: Life): boolean;
}

/** Returns all lives, and the lives with each value of a parameter that differs between the lives. */
function groupsOf(results: Results): readonly Group[] {
  const lives = results.kinds.flatMap((kind) => results.livesOf(kind).flatMap(([first]) => first?.life ?? []));
  const groupsBy = (nameOf: (life: Life) => string): readonly Group[] => {
    const values = [...new Set(lives.map(nameOf))];
    return values.length < 2 ? [] : values.map((name) => ({ name, isWanted: (life) => nameOf(life) === name }));
  };
  return [
    { name: '**all kinds**', isWanted: () => true },
    ...groupsBy(({ capacity }) => capacity),
    ...groupsBy(({ hasDaemonSets }) => (hasDaemonSets ? 'with DaemonSets' : 'without DaemonSets')),
    ...groupsBy(({ consolidateAfter }) => `\`consolidateAfter: ${consolidateAfter}\``),
  ];
}

function togetherRow(
  results: Results,
  name: string,
  isWanted: Group['isWanted'],
  own: number | undefined,
): readonly string[] {
  const kinds = results.kinds.filter((kind) => results.livesOf(kind, isWanted).length > 0);
  const indexes = results.settings.map((_, index) => index);
  const cheaper = (kind: string): number => cheaperReference(results, results.livesOf(kind)) ?? 0;
  return [
    name,
    '1',
    ...indexes.slice(1).map((index) => ratioText(ratioOfKinds(results, isWanted, () => ({ own: index, first: 0 })))),
    ...(own === undefined
      ? []
      : [ratioText(ratioOfKinds(results, isWanted, (kind) => ({ own, first: cheaper(kind) })))]),
    ...COLUMNS.map((column) =>
      indexes
        .map((index) => {
          const ratios = kinds.map((kind) =>
            ratioOfMeans(results.livesOf(kind, isWanted), { own: index, first: 0 }, column),
          );
          return index === 0 ? '1' : Math.exp(meanOf(ratios)).toFixed(2);
        })
        .join(' / '),
    ),
    String(kinds.reduce((sum, kind) => sum + results.livesOf(kind, isWanted).length, 0)),
  ];
}

/** Returns the geometric mean over the kinds of the ratio of costs. Each kind has the same weight in each life. */
function ratioOfKinds(results: Results, isWanted: Group['isWanted'], sidesOf: (kind: string) => Sides): Ratio {
  const ofKinds = results.kinds.map((kind) => {
    const { own, first } = sidesOf(kind);
    const lives = results.livesOf(kind, isWanted);
    return new Map(
      lives.map((life) => {
        const pair = { own: figureOf(life[own], 'usd'), first: figureOf(life[first], 'usd') };
        return [life[0]?.life.number ?? 0, logRatio(pair, 0)] as const;
      }),
    );
  });
  const numbers = [...(ofKinds[0]?.keys() ?? [])].filter((number) => ofKinds.every((lives) => lives.has(number)));
  return ratioFrom(numbers.map((number) => meanOf(ofKinds.map((lives) => lives.get(number) ?? 0))));
}

/** A kind may cost this much more than with the cheaper of Karpenter's settings. */
const TOLERANCE = 0.02;

/** Returns true if the interval of a kind's cost is below or above the tolerance. */
export function isDecided(results: Results, kind: string): boolean {
  const interval = verdictsOf(results).find((verdict) => verdict.kind === kind)?.cost.interval;
  return interval !== undefined && (interval[1] < 1 + TOLERANCE || interval[0] > 1 + TOLERANCE);
}

/** Returns the kinds with the highest costs and the most evictions in proportion to Karpenter's settings. */
export function verdictLines(results: Results): readonly string[] {
  const verdicts = verdictsOf(results);
  const [worst] = verdicts;
  if (worst === undefined) return [];
  const over = verdicts.filter(({ cost }) => cost.mean > 1 + TOLERANCE).map(({ kind }) => kind);
  const most = verdicts.toSorted((a, b) => b.evictions - a.evictions)[0] ?? worst;
  return [
    `The worst kind is ${worst.kind}, with ${ratioText(worst.cost)} cost compared with ${worst.beside}.`,
    `${over.length} of ${verdicts.length} kinds cost over ${100 * TOLERANCE} % more than the cheaper of Karpenter's settings${over.length === 0 ? '' : `: ${over.join(', ')}`}.`,
    `The most evictions in proportion are in ${most.kind}: ${most.evictions.toFixed(2)} of the evictions with the first setting.`,
  ];
}

/** Replaces the table of a page. @throws Error if the page has no place for the table */
export function withTable(page: string, table: string, begin = BEGIN, end = END): string {
  const [from, to] = [page.indexOf(begin), page.indexOf(end)];
  if (from < 0 || to < from)
    throw new Error(`the page has no lines ${JSON.stringify(begin)} and ${JSON.stringify(end)}`);
  return `${page.slice(0, from + begin.length)}\n\n${table}\n\n${page.slice(to)}`;
}
