/** Concurrency, back-off and retry rate of each controller. */
import { describe, expect, it } from '@jest/globals';
import { parseAwsSettings } from '#aws/settings';
import { type Outcome, runControllers, settled } from '#kube/reconcilers';
import { createMetrics } from '#observe/setup';
import { createOperator } from '../../../src/controllers/operator.ts';
import { partial } from '../../support/partial.ts';
import { handFed, recordingLog, WIDGET, type Widget, widget } from '../kube/fakes.ts';
import { virtualClock } from '../virtualclock.ts';
import { FakeCloud } from './fake-cloud.ts';

const DEFAULT_CONCURRENCY = 10;
const DEFAULT_BACK_OFF = '5 1000000';
const DEFAULT_LIMIT = '10 100';

/** Returns `concurrency · base and maximum back-off in ms · retries per second and in a burst` by controller. */
function paces(cpu: string): Readonly<Record<string, string>> {
  const clock = virtualClock();
  const { informers } = handFed();
  const cloud = Object.assign(new FakeCloud(clock), {
    repairPolicies: [{ conditionType: 'Ready', conditionStatus: 'False', tolerationMs: 1 }],
  });
  const settings = parseAwsSettings(
    ['--cluster-name=test', `--cpu-requests=${cpu}`, '--feature-gates=NodeRepair=true,StaticCapacity=true'],
    {},
  );
  const { controllers } = createOperator({
    client: partial({}),
    informers,
    clock,
    provider: { provider: cloud },
    settings,
    metrics: createMetrics(),
    log: recordingLog().log,
    events: { publish: () => undefined },
  });
  return Object.fromEntries(
    controllers.map(({ name, backOff, rateLimit, ...controller }) => {
      const atOnce = 'singleton' in controller ? 1 : (controller.concurrency ?? DEFAULT_CONCURRENCY);
      const wait = backOff === undefined ? DEFAULT_BACK_OFF : `${backOff.baseMs} ${backOff.maxMs}`;
      const limit = rateLimit === undefined ? DEFAULT_LIMIT : `${rateLimit.qps} ${rateLimit.burst}`;
      return [name, 'singleton' in controller ? '1' : `${atOnce} · ${wait} · ${limit}`];
    }),
  );
}

describe('a controller without pace settings', () => {
  const start = (failures: number) => {
    const clock = virtualClock();
    const { informers, store } = handFed();
    const metrics = createMetrics();
    const tries = new Map<string, number>();
    const reconcile = async ({ metadata: { name } }: Widget): Promise<Outcome> => {
      tries.set(name, (tries.get(name) ?? 0) + 1);
      if ((tries.get(name) ?? 0) <= failures) throw new Error('no');
      return settled;
    };
    runControllers({
      controllers: [{ name: 'usual', watches: WIDGET, reconcile }],
      informers,
      clock,
      metrics,
      log: recordingLog().log,
      signal: new AbortController().signal,
    });
    const total = (): number => [...tries.values()].reduce((sum, count) => sum + count, 0);
    return { clock, metrics, total, put: (name: string) => store(WIDGET).put(widget(name, 1)) };
  };

  it('backs off exponentially from 5 ms', async () => {
    const { clock, metrics, total, put } = start(Number.POSITIVE_INFINITY);
    put('a');
    await clock.advance(1_000);
    // At 0, 5, 15, 35, 75, 155, 315 and 635 ms, plus up to a tenth.
    expect(total()).toBe(8);
    expect(await metrics.text()).toContain('max_concurrent_reconciles{controller="usual"} 10');
  });

  it('retries a burst of a hundred keys, then ten per second', async () => {
    const { clock, total, put } = start(1);
    for (let key = 0; key < 130; key += 1) put(`key-${key}`);
    await clock.advance(50);
    expect(total()).toBe(230);
    await clock.advance(1_000);
    expect(total()).toBe(240);
    await clock.advance(2_000);
    expect(total()).toBe(260);
  });
});

const usual = (atOnce: number): string => `${atOnce} · ${DEFAULT_BACK_OFF} · ${DEFAULT_LIMIT}`;

describe('the pace of a controller', () => {
  const small = paces('1000');
  const large = paces('60000');

  it.each([
    ['nodeclaim.lifecycle', '1000 · 1000 60000 · 10 100', '5000 · 1000 60000 · 50 500'],
    ['node.termination', '100 · 100 10000 · 10 100', '5000 · 100 10000 · 500 5000'],
    ['eviction-queue', '100 · 100 10000 · 100 1000', '5000 · 100 10000 · 5000 50000'],
    ['disruption.queue', '100 · 1000 10000 · 100 1000', '1000 · 1000 10000 · 100 1000'],
    ['node.health', '10 · 100 60000 · 10 100', '1000 · 100 60000 · 10 100'],
    ['node.hydration', '1000 · 100 60000 · 10 100', '5000 · 100 60000 · 10 100'],
    ['nodeclaim.hydration', '1000 · 100 60000 · 10 100', '5000 · 100 60000 · 10 100'],
    ['nodeclaim.disruption', usual(10), usual(1000)],
    ['nodeclaim.consistency', usual(10), usual(1000)],
    ['nodepool.hash', usual(10), usual(1000)],
    ['nodepool.counter', usual(10), usual(1000)],
    ['nodepool.offered', usual(10), usual(1000)],
    ['nodepool.readiness', usual(10), usual(1000)],
    ['nodepool.registrationhealth', usual(10), usual(1000)],
    ['nodepool.validation', usual(10), usual(10)],
    ['static.provisioning', usual(10), usual(10)],
    ['static.deprovisioning', usual(10), usual(10)],
    ['nodeclaim.expiration', usual(1), usual(1)],
    ['nodeclaim.podevents', usual(1), usual(1)],
    ['metrics.pod', usual(1), usual(1)],
    ['metrics.nodepool', usual(1), usual(1)],
    ['operatorpkg.nodeclaim.status', usual(10), usual(10)],
    ['operatorpkg.nodepool.status', usual(10), usual(10)],
    ['operatorpkg.node.status', usual(10), usual(10)],
    ['disruption', '1', '1'],
    ['nodeclaim.garbagecollection', '1', '1'],
    ['metrics.node', '1', '1'],
  ])('depends on the CPUs: %s: %s with one CPU, %s with sixty', (name, one, sixty) => {
    expect([small[name], large[name]]).toEqual([one, sixty]);
  });
});
