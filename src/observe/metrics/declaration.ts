/**
 * Declaration of a metric: its name in a scrape, its help, its labels, and buckets or quantiles. The registry (`metrics.ts`)
 * accepts only declarations. Constants are named after the metric, without `karpenter_` and `_total`.
 */
import { defined } from '#lib';

/** Brand that only the functions below can set, so that a literal at a call site cannot serve as a declaration. */
const DECLARED: unique symbol = Symbol('declared');

/**
 * Part of a metric that the default view serves, so that the number of series stays within a budget: no series, one series for
 * all series that differ only in some labels (their sum or maximum), or some buckets of a histogram.
 */
export type Share =
  | { readonly kind: 'none' }
  | { readonly kind: 'sum' | 'max'; readonly over: readonly string[] }
  | { readonly kind: 'buckets'; readonly buckets: readonly number[] };

interface Declaration<Type extends string, Label extends string> {
  readonly [DECLARED]: true;
  readonly type: Type;
  /** Name in a scrape. */
  readonly name: string;
  readonly help: string;
  readonly labels: readonly Label[];
  /** If absent, the default view serves all series. */
  readonly share?: Share;
}

export type CounterDeclaration<Label extends string = string> = Declaration<'counter', Label>;
export type GaugeDeclaration<Label extends string = string> = Declaration<'gauge', Label>;

export interface HistogramDeclaration<Label extends string = string> extends Declaration<'histogram', Label> {
  readonly buckets: readonly number[];
}

export interface SummaryDeclaration<Label extends string = string> extends Declaration<'summary', Label> {
  readonly quantiles: readonly number[];
}

export type MetricDeclaration = CounterDeclaration | GaugeDeclaration | HistogramDeclaration | SummaryDeclaration;

interface Fields<Label extends string> {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly Label[];
  readonly share?: Share;
}

/** Buckets of most durations, in seconds. */
export const DURATION_BUCKETS: readonly number[] = [
  0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.25, 1.5, 1.75, 2,
  2.5, 3, 3.5, 4, 4.5, 5, 6, 7, 8, 9, 10, 15, 20, 25, 30, 40, 50, 60, 120, 150, 300, 450, 600,
];
/** Subset of `DURATION_BUCKETS` that the default view serves, unless a histogram declares another share. */
export const FEW_DURATION_BUCKETS: readonly number[] = [0.1, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 600];
/** Serves only sum and count, which are sufficient for the mean. */
export const NO_BUCKETS = { kind: 'buckets', buckets: [] } as const satisfies Share;

/** Prometheus' own default buckets, in seconds. */
export const LIBRARY_BUCKETS: readonly number[] = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

const QUANTILES: readonly number[] = [0, 0.5, 0.9, 0.99, 1];

/** Returns `count` buckets. Each bucket is twice the previous bucket. */
export const powersOfTwo = (count: number, first = 1): readonly number[] =>
  Array.from({ length: count }, (_, exponent) => first * 2 ** exponent);

const declare = <Type extends string, Label extends string>(
  type: Type,
  { name, help, labels = [], share }: Fields<Label>,
): Declaration<Type, Label> => ({ [DECLARED]: true, type, name, help, labels, ...defined({ share }) });

export const counter = <Label extends string = never>(fields: Fields<Label>): CounterDeclaration<Label> =>
  declare('counter', fields);

export const gauge = <Label extends string = never>(fields: Fields<Label>): GaugeDeclaration<Label> =>
  declare('gauge', fields);

/** Declares a histogram. The default buckets are `DURATION_BUCKETS`, in seconds. */
export const histogram = <Label extends string = never>({
  buckets = DURATION_BUCKETS,
  ...fields
}: Fields<Label> & { readonly buckets?: readonly number[] }): HistogramDeclaration<Label> => ({
  ...declare('histogram', { ...shareOf(buckets), ...fields }),
  buckets,
});

const shareOf = (buckets: readonly number[]): { readonly share?: Share } =>
  buckets === DURATION_BUCKETS ? { share: { kind: 'buckets', buckets: FEW_DURATION_BUCKETS } } : {};

export const summary = <Label extends string = never>(fields: Fields<Label>): SummaryDeclaration<Label> => ({
  ...declare('summary', fields),
  quantiles: QUANTILES,
});
