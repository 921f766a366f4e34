/** Traces of CSVs: columns by name and by number, units, samples, and what is wrong with others. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CsvOptions, fromCsv } from '../../../../src/cli/trace/csv.ts';
import { readTrace } from '../../../../src/replay/trace/read.ts';
import type { TraceEvent } from '../../../../src/replay/trace/trace.ts';
import { writeTrace } from '../../../../src/replay/trace/write.ts';

let folder: string;
let path: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'csv-'));
  path = join(folder, 'tasks.csv');
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const COLUMNS: CsvOptions = {
  submit: 'time',
  duration: 'runs',
  cpu: 'cpu',
  memory: 'mem',
  hasHeader: true,
  timeUnit: 1,
  cpuUnit: 1,
  memoryUnit: 1,
  name: 'tasks',
  start: '2026-01-05T00:00:00Z',
  sample: 1,
};
async function converted(text: string, options: Partial<CsvOptions> = {}) {
  writeFileSync(path, text);
  const { trace, ...rest } = await fromCsv(path, { ...COLUMNS, ...options });
  return { ...rest, header: trace.header, events: [...(trace.events() as Iterable<TraceEvent>)], trace };
}
const inShort = (events: readonly TraceEvent[]): readonly unknown[] =>
  events.map((event) => {
    if (!('apply' in event)) throw new Error('no apply');
    const { requests } = (event.apply as never as { spec: { containers: [{ resources: { requests: object } }] } }).spec
      .containers[0].resources;
    return [event.at, event.runsFor, event.count, requests];
  });

describe('a CSV', () => {
  it('becomes pods in the order of time, from the first one on', async () => {
    const found = await converted('time,runs,cpu,mem\n120,30,0.5,1073741824\n100,60.25,2,536870912\n');
    expect(inShort(found.events)).toEqual([
      [0, 60.3, undefined, { cpu: '2000m', memory: '512Mi' }],
      [20, 30, undefined, { cpu: '500m', memory: '1024Mi' }],
    ]);
    expect(found.header).toMatchObject({ name: 'tasks', seconds: 61, source: 'converted from CSV' });
    const written = join(folder, 'trace.jsonl');
    await writeTrace(found.header, found.events, written);
    expect(await Array.fromAsync((await readTrace(written)).events())).toEqual(found.events);
  });

  it('may have columns by number, units, quotes, counts, and lines without an end', async () => {
    const { events, incomplete } = await converted('"a,b",2,10,100,50,3\r\nx,1,,100,50,1\r\nx,3,-5,1,1,1\r\n', {
      ...{ submit: '2', duration: '3', cpu: '4', memory: '5', count: '6', hasHeader: false },
      ...{ timeUnit: 60, cpuUnit: 0.01, memoryUnit: 2 ** 20 },
    });
    expect(inShort(events)).toEqual([[0, 600, 3, { cpu: '1000m', memory: '50Mi' }]]);
    expect(incomplete).toBe(2);
  });

  it('may have quotes in quotes', async () => {
    const text = '"time","a ""b"", c",cpu,mem\n"1","7",1,1048576\n';
    expect(inShort((await converted(text, { duration: 'a "b", c' })).events)).toEqual([
      [0, 7, undefined, { cpu: '1000m', memory: '1Mi' }],
    ]);
  });

  it('may be taken in part, evenly', async () => {
    const lines = Array.from({ length: 1_000 }, (_, at) => `${at},1,1,1`);
    const { events } = await converted(`time,runs,cpu,mem\n${lines.join('\n')}`, { sample: 0.1 });
    expect(events).toHaveLength(100);
    expect(events.map(({ at }) => at).slice(0, 3)).toEqual([0, 10, 20]);
  });

  it.each<[string, Partial<CsvOptions>, string]>([
    ['', {}, 'tasks.csv: no task in it; is --no-header missing, or are columns named wrongly?'],
    ['time,runs,cpu\n1,2,3', {}, 'line 1: no column "mem" for --memory; there are "time", "runs", "cpu"'],
    [
      '1,2,3,4',
      { hasHeader: false },
      'line 1: --submit "time" is no number, and there is no header; give the number of the column, from 1',
    ],
    ['time,runs,cpu,mem\n1,2,much,4', {}, 'line 2: column cpu is "much"; it must be a number'],
  ])('%j is refused', async (text, options, message) => {
    await expect(converted(text, options)).rejects.toThrow(message);
  });
});
