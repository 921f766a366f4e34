/** Profiles of the running process, under the paths of Go's pprof but in V8's formats. */

import type { ServerResponse } from 'node:http';
import { Session } from 'node:inspector/promises';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapSnapshot } from 'node:v8';
import { own } from '#lib';
import { answer, type RequestTarget } from './http-server.ts';

const LONGEST_SECONDS = 300;

const INDEX = `profiles of this process, in V8's formats:
  /debug/pprof/profile?seconds=30  CPU profile (.cpuprofile)
  /debug/pprof/allocs?seconds=30   sampled allocations (.heapprofile)
  /debug/pprof/heap                heap snapshot (.heapsnapshot)
  /debug/pprof/cmdline             command line
Open the files in the developer tools of a Chromium browser.
`;

/** True while a profile is being created. Profiles use memory or CPU time, so only one is created at a time. */
let isAtWork = false;

/** Sends the profile that the path names. The caller must check that the client may read it. */
export async function profile(response: ServerResponse, { path, query }: RequestTarget): Promise<void> {
  const name = path.replace(/^\/debug\/pprof\/?/, '');
  if (name === '') return answer(response, 200, INDEX);
  if (name === 'cmdline') return answer(response, 200, process.argv.join('\0'));
  if (!Object.hasOwn(MAKERS, name)) return answer(response, 404, `no profile named "${name}"\n${INDEX}`);
  if (isAtWork) return answer(response, 503, 'another profile is being recorded, try again when it is finished\n');
  isAtWork = true;
  const gone = new AbortController();
  response.once('close', () => gone.abort());
  // a profile may take longer than the limit for silent connections
  response.setTimeout(0).setHeader('connection', 'close');
  try {
    await own(MAKERS, name)?.(response, secondsOf(query), gone.signal);
  } catch (error) {
    if (!gone.signal.aborted) throw error;
  } finally {
    isAtWork = false;
  }
}

function secondsOf(query: URLSearchParams): number {
  const given = Number(query.get('seconds') ?? 30);
  return Math.min(LONGEST_SECONDS, Math.max(0, Number.isFinite(given) ? given : 30));
}

type Maker = (response: ServerResponse, seconds: number, gone: AbortSignal) => Promise<void>;

const MAKERS: Readonly<Record<string, Maker>> = {
  async heap(response) {
    response.writeHead(200, { 'content-type': 'application/json' });
    await pipeline(getHeapSnapshot(), response);
  },
  profile: async (response, seconds, gone) => json(response, await cpuProfile(seconds, gone)),
  allocs: async (response, seconds, gone) => json(response, await allocations(seconds, gone)),
};

const json = (response: ServerResponse, body: unknown): void =>
  answer(response, 200, JSON.stringify(body), 'application/json');

async function cpuProfile(seconds: number, gone: AbortSignal): Promise<unknown> {
  return inSession(async (session) => {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await sleep(1_000 * seconds, undefined, { signal: gone });
    return (await session.post('Profiler.stop')).profile;
  });
}

async function allocations(seconds: number, gone: AbortSignal): Promise<unknown> {
  return inSession(async (session) => {
    await session.post('HeapProfiler.startSampling');
    await sleep(1_000 * seconds, undefined, { signal: gone });
    return (await session.post('HeapProfiler.stopSampling')).profile;
  });
}

async function inSession<T>(work: (session: Session) => Promise<T>): Promise<T> {
  const session = new Session();
  session.connect();
  try {
    return await work(session);
  } finally {
    session.disconnect();
  }
}
