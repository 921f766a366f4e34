/**
 * Metrics that forget what they are told, for an operator of whom nobody asks any. prom-client gives each metric some of
 * its methods as members of its own, so that these have to be replaced there.
 */
import { Counter, Gauge, Histogram, Summary } from 'prom-client';

const forget = (): void => {};
const forgetTime = () => () => 0;

class UnservedCounter<Label extends string> extends Counter<Label> {
  constructor(...given: ConstructorParameters<typeof Counter<Label>>) {
    super(...given);
    Object.assign(this, { inc: forget });
  }
}

class UnservedGauge<Label extends string> extends Gauge<Label> {
  constructor(...given: ConstructorParameters<typeof Gauge<Label>>) {
    super(...given);
    Object.assign(this, { inc: forget, dec: forget, set: forget, remove: forget, startTimer: forgetTime });
  }
}

class UnservedHistogram<Label extends string> extends Histogram<Label> {
  constructor(...given: ConstructorParameters<typeof Histogram<Label>>) {
    super(...given);
    Object.assign(this, { observe: forget, startTimer: forgetTime });
  }
}

class UnservedSummary<Label extends string> extends Summary<Label> {
  constructor(...given: ConstructorParameters<typeof Summary<Label>>) {
    super(...given);
    Object.assign(this, { observe: forget, startTimer: forgetTime });
  }
}

export const UNSERVED = {
  Counter: UnservedCounter,
  Gauge: UnservedGauge,
  Histogram: UnservedHistogram,
  Summary: UnservedSummary,
};
