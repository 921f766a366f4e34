/** The series of a gauge that belong to one object, so that they can be replaced and removed together. */

import type { GaugeDeclaration } from '../../observe/metrics/declaration.ts';
import type { Metrics } from '../../observe/metrics.ts';
import { type Sample, seriesText } from '../../observe/samples.ts';

export type { Labels } from '../../observe/samples.ts';

export class OwnedSeries {
  readonly #byOwner = new Map<string, readonly Sample[]>();

  constructor(metrics: Metrics, declaration: GaugeDeclaration) {
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

  *#samples(): Generator<Sample> {
    for (const samples of this.#byOwner.values()) yield* samples.length === 1 ? samples : different(samples);
  }
}

/** The last of those with the same labels, such as of resources that differ in case: Prometheus would drop one with a warning. */
const different = (samples: readonly Sample[]): Iterable<Sample> =>
  new Map(samples.map((sample) => [identityOf(sample), sample])).values();

/** Samples of an owner that have labels of their own share the others. */
const identityOf = (sample: Sample): string =>
  sample.own === undefined ? seriesText(sample) : Object.values(sample.own).join('\n');
