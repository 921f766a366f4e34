/** All output of the operator's process must be log lines, including the report of an exhausted heap. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, NODE_POOL, POD } from '#api/objects';
import { steadyClock } from '#lib/clock';
import { startWorld, type World } from '#local/world';
import { healthyNodeClass, healthyPod, healthyPool } from '../../hostile/healthy.ts';
import { type RunningProgram, runProgram } from '../../support/operator/program.ts';

let world: World;
let program: RunningProgram | undefined;
/** Counter for lease names. Each process needs its own, because a process that crashes does not release its lease. */
let leases = 0;
beforeAll(async () => {
  world = await startWorld({ clusterName: 'test', clock: steadyClock() });
});
afterEach(async () => {
  program?.kill('SIGKILL');
  await program?.ended;
});
afterAll(() => world.stop());

/** @param code module that Node.js loads first, in the process and in each of its threads */
function run(
  code: string,
  env: Readonly<Record<string, string>> = {},
  ...nodeOptions: readonly string[]
): RunningProgram {
  leases += 1;
  const lease = { LEADER_ELECTION_NAME: `lease-${leases}` };
  const preload = `data:text/javascript,${encodeURIComponent(code)}`;
  program = runProgram({
    env: { ...world.env(), METRICS_PORT: '0', HEALTH_PROBE_PORT: '0', ...lease, ...env },
    nodeOptions: ['--import', preload, ...nodeOptions],
  });
  return program;
}

const leading = (operator: RunningProgram) =>
  operator.untilLine(({ message }) => message === 'successfully acquired lease');

describe('the output of the process', () => {
  it('is JSON if libraries, Node.js or threads write it', async () => {
    const queue = new URL(world.aws.url);
    queue.hostname = 'localhost';
    const operator = run(
      `import { isMainThread } from 'node:worker_threads';
       const from = isMainThread ? 'process' : 'thread';
       const write = () => {
         console.log(from + ' console.log %s', 'text');
         console.warn(new Error(from + ' console.warn'));
         console.error(from + ' console.error\\nsecond line');
         process.stdout.write(Buffer.from(from + ' stdout.write\\n'));
         process.stderr.write(from + ' stderr.write, begun ');
         process.stderr.write('and ended\\n', () => console.log(from + ' callback'));
         process.emitWarning(from + ' emitWarning');
         process.emitWarning(from + ' deprecation', 'DeprecationWarning', 'DEP0');
       };
       isMainThread ? process.on('SIGUSR2', write) : setTimeout(write, 100);`,
      // the SDK used to warn about a host that differs from the endpoint each time it read the queue
      { AWS_ENDPOINT_URL_SQS: queue.href.replace(/\/$/, '') },
    );
    await leading(operator);
    operator.kill('SIGUSR2');
    // a thread starts with the first scheduling pass
    await world.kube.client.create(EC2_NODE_CLASS, healthyNodeClass());
    await world.kube.client.create(NODE_POOL, healthyPool());
    await world.kube.client.create(POD, healthyPod(1));
    const written = (text: string) => operator.untilLine(({ text: seen }) => String(seen).includes(text));
    for (const from of ['process', 'thread']) {
      for (const way of ['console.log text', 'console.warn', 'console.error', 'stdout.write', 'callback'])
        await written(`${from} ${way}`);
      await written(`${from} stderr.write, begun and ended`);
      await written(`Warning: ${from} emitWarning`);
      await written(`DeprecationWarning: ${from} deprecation`);
    }
    operator.kill('SIGTERM');
    await operator.ended;
    expect(operator.noise).toEqual([]);
    expect(operator.log.every(({ level, message, time }) => level && message && time)).toBe(true);
    expect(operator.log.filter(({ text }) => String(text).includes('QueueUrl'))).toEqual([]);
  });

  it.each([
    ['throws', "throw new Error('a defect');"],
    ['rejects', "void Promise.reject(new Error('a defect'));"],
  ])('is JSON if code that is not awaited %s, which ends the process', async (_, code) => {
    const operator = run(`process.on('SIGUSR2', () => { ${code} });`);
    await leading(operator);
    operator.kill('SIGUSR2');
    expect(await operator.ended).toEqual({ code: 1, signal: null });
    expect(operator.noise).toEqual([]);
    expect(operator.log.at(-1)).toMatchObject({
      level: 'ERROR',
      message: 'ending the process after an error that no code handles',
      error: 'a defect',
      stack: expect.stringContaining('Error: a defect'),
      remedy: expect.any(String),
    });
  });
});

describe('an exhausted heap', () => {
  it('ends the process with a specific exit code and a line in the log', async () => {
    const operator = run(
      `const kept = [];
       const leak = () => { for (let n = 0; n < 200; n += 1) kept.push({ list: new Array(64).fill(n), text: 'x' + n }); setImmediate(leak); };
       process.on('SIGUSR2', leak);`,
      {},
      '--max-old-space-size=160',
      '--max-semi-space-size=4',
    );
    await leading(operator);
    operator.kill('SIGUSR2');
    expect(await operator.ended).toEqual({ code: 20, signal: null });
    expect(operator.noise).toEqual([]);
    expect(operator.log.at(-1)).toMatchObject({
      level: 'ERROR',
      message: 'the heap of the main thread is nearly full, ending the process',
      'limit-mib': 160,
      'exit-code': 20,
      remedy: expect.stringContaining('controller.resources.limits.memory'),
    });
  });
});
