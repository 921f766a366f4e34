/** Profiles of the running process, under the paths of Go's pprof but in V8's formats. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Session } from 'node:inspector/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { getHeapSnapshot } from 'node:v8';

const LONGEST_SECONDS = 300;

const INDEX = `profiles of this process, in V8's formats:
  /debug/pprof/profile?seconds=30  CPU profile (.cpuprofile)
  /debug/pprof/allocs?seconds=30   sampled allocations (.heapprofile)
  /debug/pprof/heap                heap snapshot (.heapsnapshot)
  /debug/pprof/cmdline             command line
Open the files in the developer tools of a Chromium browser.
`;

export async function profile(request: IncomingMessage, response: ServerResponse, path: string): Promise<void> {
  const name = path.replace(/^\/debug\/pprof\/?/, '');
  const asked = Number(new URL(request.url ?? '/', 'http://localhost').searchParams.get('seconds') ?? 30);
  const waitMs = 1_000 * Math.min(LONGEST_SECONDS, Math.max(0, Number.isFinite(asked) ? asked : 30));
  switch (name) {
    case '':
      response.writeHead(200, { 'content-type': 'text/plain' }).end(INDEX);
      return;
    case 'cmdline':
      response.writeHead(200, { 'content-type': 'text/plain' }).end(process.argv.join('\0'));
      return;
    case 'heap':
      response.writeHead(200, { 'content-type': 'application/json' });
      getHeapSnapshot().pipe(response);
      return;
    case 'profile':
      return json(response, await cpuProfile(waitMs));
    case 'allocs':
      return json(response, await allocations(waitMs));
    default:
      response.writeHead(404, { 'content-type': 'text/plain' }).end(`no profile named "${name}"\n${INDEX}`);
  }
}

function json(response: ServerResponse, body: unknown): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function cpuProfile(waitMs: number): Promise<unknown> {
  return inSession(async (session) => {
    await session.post('Profiler.enable');
    await session.post('Profiler.start');
    await sleep(waitMs);
    return (await session.post('Profiler.stop')).profile;
  });
}

async function allocations(waitMs: number): Promise<unknown> {
  return inSession(async (session) => {
    await session.post('HeapProfiler.startSampling');
    await sleep(waitMs);
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
