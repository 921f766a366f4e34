/** The series of a gauge that belong to one object, so that they can be replaced and removed together. */
import type { GaugeDeclaration } from './metrics/declaration.ts';
import type { Metrics } from './metrics.ts';
import { type Sample, seriesText } from './samples.ts';

export type { Labels, Sample } from './samples.ts';

export class OwnedSeries {
  readonly #byOwner = new Map<string, readonly Sample[]>();
  readonly #isDetail: ((owner: string) => boolean) | undefined;

  /** @param isDetail asked at each scrape: whether the default view leaves out all that the owner has */
  constructor(
    metrics: Pick<Metrics, 'readAtScrape'>,
    declaration: GaugeDeclaration,
    isDetail?: (owner: string) => boolean,
  ) {
    this.#isDetail = isDetail;
    metrics.readAtScrape(declaration, () => this.#samples());
  }

  /**
   * Sets an owner's series; those that it had before and has no longer disappear. No two owners may have a series with the
   * same labels.
   */
  set(owner: string, samples: readonly Sample[]): void {
    if (samples.length > 0) this.#byOwner.set(owner, samples);
    else this.#byOwner.delete(owner);
  }

  remove(owner: string): void {
    this.#byOwner.delete(owner);
  }

  clear(): void {
    this.#byOwner.clear();
  }

  *#samples(): Generator<Sample> {
    // as of now: who is removed and set again while others have their turn would be read twice
    if (this.#isDetail === undefined) {
      yield* differentSamples([...this.#byOwner.values()]);
      return;
    }
    for (const [owner, samples] of [...this.#byOwner]) {
      const isDetail = this.#isDetail(owner);
      for (const sample of different(samples)) yield isDetail ? { ...sample, isDetail } : sample;
    }
  }
}

/** The samples of objects, a list for each: no two of a list with the same labels. */
export function* differentSamples(lists: Iterable<readonly Sample[]>): Generator<Sample> {
  for (const samples of lists) yield* different(samples);
}

/** The last of those with the same labels, such as of resources that differ in case: Prometheus would drop one with a warning. */
const different = (samples: readonly Sample[]): Iterable<Sample> =>
  samples.length === 1 ? samples : new Map(samples.map((sample) => [identityOf(sample), sample])).values();

/** Samples of an owner that have labels of their own share the others. */
const identityOf = (sample: Sample): string =>
  sample.own === undefined ? seriesText(sample) : Object.values(sample.own).join('\n');
