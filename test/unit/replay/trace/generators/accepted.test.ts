/** The API server of a replay accepts all generated objects. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#api/objects';
import { steadyClock } from '#lib/clock';
import { type LocalApiServer, startApiServer } from '#local/testing';
import { objectField } from '../../../../../src/replay/trace/fields.ts';
import { GENERATORS, type GeneratorKind, generateTrace } from '../../../../../src/replay/trace/generators/generate.ts';
import { kindOf } from '../../../../../src/replay/trace/kinds.ts';
import { BACKOFF_LIMIT } from '../../../../../src/replay/trace/objects.ts';
import type { TraceEvent } from '../../../../../src/replay/trace/trace.ts';
import { connect, isAnyConflict, type KubeApi } from '../../../../support/kube-api.ts';

const START = Date.parse('2026-01-05T00:00:00Z');
const WITH_JOBS: readonly string[] = [
  ...['batch', 'pipeline', 'machine-learning', 'mix', 'leftovers'],
  ...['hourly-spikes', 'nightly-spikes', 'ci-bursts', 'spark'],
];
/** Later events are similar to earlier ones. */
const MOST = 250;

let server: LocalApiServer;
let client: KubeApi;
beforeAll(async () => {
  server = await startApiServer({ clock: steadyClock() });
  client = connect(server.url);
});
afterAll(() => server.close());

/** Returns the errors of the API server for invalid objects. */
async function refusals(objects: readonly KubeObject[]): Promise<readonly string[]> {
  const refused: string[] = [];
  for (const object of objects) {
    try {
      await client.create(kindOf(objectField(object, 'apply')), object);
    } catch (error) {
      if (!isAnyConflict(error)) refused.push(`${object.kind} ${object.metadata.name}: ${(error as Error).message}`);
    }
  }
  return refused;
}

const appliedIn = (events: Iterable<TraceEvent>): readonly KubeObject[] =>
  [...events].flatMap((event) => ('apply' in event ? [event.apply] : [])).slice(0, MOST);

describe('an API server', () => {
  it.each(Object.keys(GENERATORS) as readonly GeneratorKind[])('accepts the objects of a trace of %s', async (kind) => {
    const { events } = generateTrace(kind, { seed: 5, pods: 60, startMs: START, seconds: 86_400 });
    const objects = appliedIn(events() as Iterable<TraceEvent>);
    expect(objects.length).toBeGreaterThan(5);
    expect(await refusals(objects)).toEqual([]);
  });

  it.each(
    Object.keys(GENERATORS) as readonly GeneratorKind[],
  )('never ends a Job of %s because of evictions', (kind) => {
    const { events } = generateTrace(kind, { seed: 5, pods: 60, startMs: START, seconds: 86_400 });
    const jobs = appliedIn(events() as Iterable<TraceEvent>).filter((object) => object.kind === 'Job');
    expect(jobs.length > 0).toBe(WITH_JOBS.includes(kind));
    for (const job of jobs) expect(job).toMatchObject({ spec: { backoffLimit: BACKOFF_LIMIT } });
  });

  it('accepts the objects of the example', async () => {
    const text = readFileSync(join(import.meta.dirname, '../../../../../examples/replay/tiny.jsonl'), 'utf8');
    const [, ...lines] = text.trim().split('\n');
    expect(await refusals(appliedIn(lines.map((line) => JSON.parse(line) as TraceEvent)))).toEqual([]);
  });
});
