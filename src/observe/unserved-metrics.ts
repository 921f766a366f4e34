/** Metrics that forget what they are told, for an operator of whom nobody asks any. */
import { Counter, Gauge, Histogram, Summary } from 'prom-client';

class UnservedCounter<Label extends string> extends Counter<Label> {
  override inc(): void {}
}

class UnservedGauge<Label extends string> extends Gauge<Label> {
  override inc(): void {}
  override dec(): void {}
  override set(): void {}
  override remove(): void {}
}

class UnservedHistogram<Label extends string> extends Histogram<Label> {
  override observe(): void {}
  override startTimer(): ReturnType<Histogram<Label>['startTimer']> {
    return () => 0;
  }
}

class UnservedSummary<Label extends string> extends Summary<Label> {
  override observe(): void {}
}

export const UNSERVED = {
  Counter: UnservedCounter,
  Gauge: UnservedGauge,
  Histogram: UnservedHistogram,
  Summary: UnservedSummary,
};
