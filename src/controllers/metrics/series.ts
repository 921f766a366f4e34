/** The series of a gauge that belong to one object, so that they can be replaced and removed together. */
import type { Gauge } from 'prom-client';

export type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly labels: Labels;
  readonly value: number;
}

export class OwnedSeries {
  readonly #gauge: Gauge;
  readonly #byOwner = new Map<string, readonly Labels[]>();

  constructor(gauge: Gauge) {
    this.#gauge = gauge;
  }

  /** Sets an owner's series; those that it had before and has no longer disappear. */
  set(owner: string, samples: readonly Sample[]): void {
    this.remove(owner);
    for (const { labels, value } of samples) this.#gauge.set(labels, value);
    if (samples.length > 0)
      this.#byOwner.set(
        owner,
        samples.map(({ labels }) => labels),
      );
  }

  remove(owner: string): void {
    for (const labels of this.#byOwner.get(owner) ?? []) this.#gauge.remove(labels);
    this.#byOwner.delete(owner);
  }
}
