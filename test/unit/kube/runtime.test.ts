import { describe, expect, it } from '@jest/globals';
import { currentController } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { UnreadableAnswer } from '../../../src/kube/answers.ts';
import { ApiError } from '../../../src/kube/client.ts';
import {
  after as again,
  type Controller,
  type Key,
  type KeyedWorker,
  type Outcome,
  type ReconcileContext,
  Requeue,
  settled,
} from '../../../src/kube/reconciler.ts';
import { runControllers } from '../../../src/kube/runtime.ts';
import { ConnectionError } from '../../../src/kube/transport.ts';
import { virtualClock } from '../virtualclock.ts';
import { handFed, recordingLog, WIDGET, type Widget, widget } from './fakes.ts';

const NAMED = { name: 'widget.paint', watches: WIDGET, backOff: { baseMs: 100, maxMs: 1_000 } };

function world(...controllers: Controller[]) {
  const clock = virtualClock();
  const { informers, store } = handFed();
  const { log, lines } = recordingLog();
  const metrics = createMetrics();
  const stop = new AbortController();
  const { done } = runControllers({ controllers, informers, clock, log, metrics, signal: stop.signal });
  return { clock, store: store(WIDGET), lines, metrics, stop, done };
}

describe('runControllers', () => {
  it('reconciles existing and changed objects in their current state', async () => {
    const seen: string[] = [];
    const { clock, store } = world({
      ...NAMED,
      reconcile: async (object: Widget) => {
        seen.push(`${object.metadata.name}@${object.metadata.resourceVersion}`);
        return settled;
      },
    });
    store.put(widget('a', 1));
    await clock.settle();
    store.put(widget('a', 2));
    store.put(widget('a', 3));
    await clock.settle();
    expect(seen).toEqual(['a@1', 'a@3']);
  });

  it('provides the name of the current controller to all code below a step', async () => {
    const seen: string[] = [];
    const { clock, store } = world({
      ...NAMED,
      reconcile: async () => {
        await clock.sleep(1_000);
        seen.push(currentController());
        return settled;
      },
    });
    store.put(widget('a', 1));
    await clock.advance(2_000);
    expect([...seen, currentController()]).toEqual(['widget.paint', '']);
  });

  it('provides each step with its own log, which is the same object during the step', async () => {
    const { clock, store, lines } = world({
      ...NAMED,
      reconcile: async (_: Widget, context: ReconcileContext) => {
        const { log } = { ...context };
        log.info('once');
        context.log.info('twice');
        return settled;
      },
    });
    store.put(widget('a', 1));
    await clock.settle();
    store.put(widget('a', 2));
    await clock.settle();
    const ids = lines.map(({ fields }) => fields?.reconcileID);
    expect(lines).toHaveLength(4);
    expect(lines[0]?.fields).toMatchObject({ controller: 'widget.paint', Widget: { name: 'a' }, name: 'a' });
    expect([ids[1], ids[3]]).toEqual([ids[0], ids[2]]);
    expect(ids[2]).not.toBe(ids[0]);
  });

  it('reconciles again after the time in the outcome', async () => {
    const times: number[] = [];
    const { clock, store } = world({
      ...NAMED,
      reconcile: async () => {
        times.push(clock.now());
        return again(5_000);
      },
    });
    const start = clock.now();
    store.put(widget('a', 1));
    await clock.advance(11_000);
    expect(times.map((time) => time - start)).toEqual([0, 5_000, 10_000]);
  });

  it.each([
    { when: 'a defect', error: new Error('boom'), level: 'error', message: 'Reconciler error', result: 'error' },
    { when: 'a Requeue', error: new Requeue('later'), level: 'debug', message: 'requeued', result: 'requeue' },
    {
      when: 'a write conflict',
      error: new ApiError(409, 'Conflict', 'the object has been modified'),
      level: 'debug',
      message: 'requeued',
      result: 'requeue',
    },
  ])('retries $when with back-off and logs it as $level', async ({ error, level, message, result }) => {
    const times: number[] = [];
    const { clock, store, lines, metrics } = world({
      ...NAMED,
      reconcile: async () => {
        times.push(clock.now() - start);
        if (times.length < 3) throw error;
        return settled;
      },
    });
    const start = clock.now();
    store.put(widget('a', 1));
    await clock.advance(2_000);
    expect(times).toHaveLength(3);
    expect(times[1]).toBeGreaterThanOrEqual(100);
    expect(times[1]).toBeLessThan(112);
    expect(lines.filter((line) => line.message === message)).toHaveLength(2);
    expect(lines[0]).toMatchObject({ level, message });
    expect(lines[0]?.fields).toMatchObject({
      controller: 'widget.paint',
      controllerGroup: 'example.com',
      controllerKind: 'Widget',
      Widget: { name: 'a' },
      name: 'a',
      namespace: '',
      reconcileID: expect.stringMatching(/^[0-9a-f-]{36}$/),
      error,
    });
    expect(await metrics.text()).toContain(
      `controller_runtime_reconcile_total{controller="widget.paint",result="${result}"} 2`,
    );
  });

  const silence = Object.assign(new ConnectionError('no answer', false), { isTimeout: true });
  const late = Object.assign(new Error('too late'), { name: 'TimeoutError' });
  it.each([
    { what: 'a failure', error: new Error('boom'), panics: 0, timeouts: 0 },
    { what: 'a defect', error: new TypeError('Cannot read properties of undefined'), panics: 1, timeouts: 0 },
    { what: 'a defect below', error: new Error('step', { cause: new ReferenceError('x') }), panics: 1, timeouts: 0 },
    {
      what: 'a failed fetch',
      error: new TypeError('fetch failed', { cause: new Error('gone') }),
      panics: 0,
      timeouts: 0,
    },
    { what: 'silence of AWS', error: new AggregateError([late]), panics: 0, timeouts: 1 },
    { what: 'silence of the API server', error: silence, panics: 0, timeouts: 1 },
  ])('counts $what in the matching metrics', async ({ error, panics, timeouts }) => {
    const { clock, store, metrics } = world({ ...NAMED, reconcile: async () => Promise.reject(error) });
    const counts = async (): Promise<readonly (string | undefined)[]> => {
      const text = await metrics.text();
      return ['reconcile_errors', 'reconcile_panics', 'reconcile_timeouts', 'terminal_reconcile_errors'].map(
        (name) =>
          new RegExp(`^controller_runtime_${name}_total\\{controller="widget.paint"\\} (.*)$`, 'm').exec(text)?.[1],
      );
    };
    expect(await counts()).toEqual(['0', '0', '0', '0']);
    store.put(widget('a', 1));
    await clock.settle();
    expect(await counts()).toEqual(['1', String(panics), String(timeouts), '0']);
  });

  it.each([
    { when: 'the API server cannot be reached', error: new ConnectionError('gone', false), isSoon: true },
    {
      when: 'it refuses',
      error: new Error('step', { cause: new ApiError(429, 'TooManyRequests', 'no') }),
      isSoon: true,
    },
    { when: 'it forbids', error: new AggregateError([new ApiError(403, 'Forbidden', 'no')]), isSoon: true },
    { when: 'it fails', error: new ApiError(500, 'InternalError', 'no'), isSoon: true },
    {
      when: 'writes conflict',
      error: new Requeue('changed', { cause: new ApiError(409, 'Conflict', 'no') }),
      isSoon: true,
    },
    { when: 'it cannot be understood', error: new UnreadableAnswer('no'), isSoon: true },
    { when: 'the request is wrong', error: new ApiError(422, 'Invalid', 'no'), isSoon: false },
    { when: 'there is a defect', error: new Error('boom'), isSoon: false },
  ])('recovers within seconds after an hour in which $when: $isSoon', async ({ error, isSoon }) => {
    const done: string[] = [];
    let isWell = false;
    const step = (what: string) => async (): Promise<Outcome> => {
      if (!isWell) throw error;
      done.push(what);
      return again(3_600_000);
    };
    const singleton: Controller = { name: 'loop', singleton: true, reconcile: step('loop') };
    const { clock, store } = world({ name: 'widget.paint', watches: WIDGET, reconcile: step('widget') }, singleton);
    store.put(widget('a', 1));
    await clock.advance(3_600_000);
    isWell = true;
    await clock.advance(6_000);
    expect(done.length).toBe(isSoon ? 2 : 0);
  });

  it('logs repeated conflicts, and not single conflicts', async () => {
    const conflict = new ApiError(409, 'Conflict', 'the object has been modified');
    const { clock, store, lines } = world({
      ...NAMED,
      reconcile: async () => {
        throw new Requeue('changed', { cause: conflict });
      },
    });
    store.put(widget('a', 1));
    await clock.advance(2_000);
    expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
    await clock.advance(100_000);
    const errors = lines.filter(({ level }) => level === 'error');
    expect(errors.map(({ fields }) => fields.failures)).toEqual([8, 16, 32, 64]);
    expect(errors[0]).toMatchObject({ message: 'repeated write conflicts, retrying', fields: { name: 'a' } });
  });

  it('reconciles keys of triggers and skips missing objects', async () => {
    const seen: string[] = [];
    const other = { ...WIDGET, kind: 'Gadget', plural: 'gadgets' };
    const clock = virtualClock();
    const { informers, store } = handFed();
    const controller: Controller = {
      ...NAMED,
      filter: () => false,
      triggers: [{ kind: other, keysFor: (): Key[] => [{ name: 'a' }, { name: 'missing' }] }],
      reconcile: async (object: Widget) => {
        seen.push(object.metadata.name);
        return settled;
      },
    };
    const { log } = recordingLog();
    const { signal } = new AbortController();
    runControllers({ controllers: [controller], informers, clock, log, metrics: createMetrics(), signal });
    store(WIDGET).put(widget('a', 1));
    await clock.settle();
    expect(seen).toEqual([]);
    store(other).put(widget('g', 1));
    await clock.settle();
    expect(seen).toEqual(['a']);
  });

  it('reports the removal of an object once, also if a successor has its name', async () => {
    const told: string[] = [];
    const { clock, store } = world({
      ...NAMED,
      filter: (_: Widget, event: string) => event === 'added',
      removed: ({ name }: Key) => told.push(`removed ${name}`),
      reconcile: async ({ metadata }: Widget) => {
        told.push(`reconcile ${metadata.uid}`);
        return settled;
      },
    });
    store.put(widget('a', 1));
    await clock.settle();
    store.remove(widget('a', 2));
    await clock.settle();
    store.put(widget('b', 3, 'red', 'first'));
    await clock.settle();
    store.put(widget('b', 4, 'red', 'second'));
    await clock.settle();
    expect(told).toEqual(['reconcile uid-a', 'removed a', 'reconcile first', 'removed b', 'reconcile second']);
  });

  it('runs a singleton again and again, with back-off after failures', async () => {
    const times: number[] = [];
    const { clock, lines } = world({
      name: 'loop',
      singleton: true,
      backOff: { baseMs: 100, maxMs: 1_000 },
      reconcile: async () => {
        times.push(clock.now() - start);
        if (times.length === 2) throw new Error('boom');
        return again(1_000);
      },
    });
    const start = clock.now();
    await clock.advance(3_000);
    expect(times.map((time) => Math.round(time / 200) * 200)).toEqual([0, 1_000, 1_200, 2_200]);
    expect(lines.filter(({ level }) => level === 'error')).toHaveLength(1);
  });

  it('passes a function that adds keys to a keyed worker', async () => {
    const seen: string[] = [];
    let add: (key: string) => void = () => {};
    const worker: KeyedWorker = {
      name: 'keys',
      keyed: true,
      bind: (handed) => {
        add = handed;
      },
      describe: (key) => ({ Thing: key }),
      reconcile: async (key, { log }) => {
        log.info('working');
        seen.push(key);
        return settled;
      },
    };
    const { clock, lines } = world(worker);
    add('early');
    await clock.settle();
    add('late');
    await clock.settle();
    expect(seen).toEqual(['early', 'late']);
    expect(lines[0]?.fields).toMatchObject({ controller: 'keys', Thing: 'early' });
  });

  it('completes the running step and ends waits when it stops', async () => {
    let finish: () => void = () => {};
    const { clock, store, stop, done } = world(
      { name: 'loop', singleton: true, reconcile: async () => again(3_600_000) },
      {
        ...NAMED,
        reconcile: () =>
          new Promise<Outcome>((resolve) => {
            finish = () => resolve(settled);
          }),
      },
    );
    store.put(widget('a', 1));
    await clock.settle();
    let isDone = false;
    const ended = done.then(() => {
      isDone = true;
    });
    stop.abort();
    await clock.settle();
    expect(isDone).toBe(false);
    finish();
    await ended;
    expect(isDone).toBe(true);
  });
});
