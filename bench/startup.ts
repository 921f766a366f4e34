/**
 * Time from the start of the operator's process until it is ready and until it requests the first instance: `node
 * bench/startup.ts [SCRIPT…]` prints one JSON line per script (default: the sources, and the bundle if it is
 * built). CPU time is the operator's own work. The rest of the wall time is waiting for AWS, Kubernetes and more pods
 * (BATCH_IDLE_DURATION is 0 here).
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { DEPLOYMENT, EC2_NODE_CLASS, type Kind, NODE_POOL } from '#api/objects';
import { startWorld, type World } from '#local/world';
import { freePort } from '../test/support/free-port.ts';
import { collectionPath, connect } from '../test/support/kube-api.ts';

const ROOT = join(import.meta.dirname, '..');
const RUNS = 5;
const LIMIT_MS = 60_000;
/** Linux counts the CPU time of processes in hundredths of a second. */
const TICK_MS = 10;

interface Moment {
  readonly wallMs: number;
  readonly cpuMs: number;
}

interface Start {
  readonly ready: Moment;
  readonly launch: Moment;
}

/** Returns the CPU time of a process so far, user and system. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

async function prepare(world: World): Promise<void> {
  const kinds: readonly Kind[] = [EC2_NODE_CLASS, NODE_POOL, DEPLOYMENT];
  for (const file of ['ec2nodeclass.yaml', 'nodepool.yaml', 'inflate.yaml'])
    for (const document of parseAllDocuments(readFileSync(join(ROOT, 'examples', file), 'utf8'))) {
      const object = document.toJS() as { kind: string; metadata: { namespace?: string }; spec: { replicas?: number } };
      const kind = kinds.find((each) => each.kind === object.kind);
      if (kind === undefined) throw new Error(`${file} holds a ${object.kind}`);
      if (kind === DEPLOYMENT) object.spec.replicas = 5;
      const namespace = kind.namespaced ? (object.metadata.namespace ?? 'default') : undefined;
      await connect(world.kube.url).raw('POST', collectionPath(kind, namespace), object);
    }
}

async function untilReady(port: number, child: ChildProcess): Promise<void> {
  for (const started = Date.now(); Date.now() - started < LIMIT_MS; ) {
    if (child.exitCode !== null) throw new Error(`the operator ended with ${child.exitCode}`);
    const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error('the operator does not become ready');
}

async function startOnce(script: string): Promise<Start> {
  const world = await startWorld();
  try {
    await prepare(world);
    const bought = new Promise<void>((resolve) => {
      world.aws.instances.subscribe((_, previous) => previous === undefined && resolve());
    });
    const port = await freePort();
    const started = performance.now();
    const child = spawn(process.execPath, [script], {
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        ...world.env(),
        METRICS_PORT: '0',
        HEALTH_PROBE_PORT: String(port),
        BATCH_IDLE_DURATION: '1ms',
      },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const ended = once(child, 'exit');
    const moment = (): Moment => ({ wallMs: performance.now() - started, cpuMs: cpuMsOf(child.pid ?? 0) });
    try {
      const late = setTimeout(() => child.kill('SIGKILL'), LIMIT_MS);
      const gone = ended.then(() => Promise.reject(new Error('the operator ended, or bought nothing in time')));
      const both = Promise.all([untilReady(port, child).then(moment), bought.then(moment)]);
      const [ready, launch] = await Promise.race([both, gone]);
      clearTimeout(late);
      gone.catch(() => undefined);
      return { ready, launch };
    } finally {
      child.kill('SIGKILL');
      await ended;
    }
  } finally {
    await world.stop();
  }
}

const median = (values: readonly number[]): number =>
  Math.round(values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0);

const given = process.argv.slice(2);
const scripts = given.length > 0 ? given : ['src/program.ts', 'dist/operator/main.js'].map((each) => join(ROOT, each));
for (const script of scripts.filter((each) => existsSync(each))) {
  const starts: Start[] = [];
  for (let run = 0; run < RUNS; run++) starts.push(await startOnce(script));
  const line = {
    workload: 'start-up',
    script: script.replace(`${ROOT}/`, ''),
    readyMs: median(starts.map(({ ready }) => ready.wallMs)),
    readyCpuMs: median(starts.map(({ ready }) => ready.cpuMs)),
    firstLaunchMs: median(starts.map(({ launch }) => launch.wallMs)),
    firstLaunchCpuMs: median(starts.map(({ launch }) => launch.cpuMs)),
  };
  process.stdout.write(`${JSON.stringify(line)}\n`);
}
