/** Series of a gauge that belong to one object, so that they can be replaced and removed together. */
import type { GaugeDeclaration } from './metrics/declaration.ts';
import type { Metrics } from './metrics.ts';
import { type Sample, seriesText } from './samples.ts';

export class OwnedSeries {
  readonly #byOwner = new Map<string, readonly Sample[]>();
  readonly #isDetail: ((owner: string) => boolean) | undefined;

  /** @param isDetail called at each scrape: returns true if the default view omits all series of the owner */
  constructor(
    metrics: Pick<Metrics, 'readAtScrape'>,
    declaration: GaugeDeclaration,
    isDetail?: (owner: string) => boolean,
  ) {
    this.#isDetail = isDetail;
    metrics.readAtScrape(declaration, () => this.#samples());
  }

  /** Replaces an owner's series. Different owners must not have series with the same labels. */
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
    // copies the list first: an owner that is removed and set again during a pause would be read twice
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

/** Yields the samples of objects, with one list for each object. Removes samples with equal labels within a list. */
export function* differentSamples(lists: Iterable<readonly Sample[]>): Generator<Sample> {
  for (const samples of lists) yield* different(samples);
}

/**
 * Keeps only the last sample with the same labels, such as of resources that differ in case. Prometheus would drop one of them
 * with a warning.
 */
const different = (samples: readonly Sample[]): Iterable<Sample> =>
  samples.length === 1 ? samples : new Map(samples.map((sample) => [identityOf(sample), sample])).values();

/** Returns a text that identifies a sample within its owner. Samples with `own` labels share all other labels. */
const identityOf = (sample: Sample): string =>
  sample.own === undefined ? seriesText(sample) : Object.values(sample.own).join('\n');
