/** The start of the operator as a process: readiness, signals, errors. */
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  request,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { steadyClock } from '#lib/clock';
import { startWorld, type World } from '#local/world';
import { freePort } from '../../support/free-port.ts';
import { type ProgramOptions, type RunningProgram, runProgram } from '../../support/operator/program.ts';

let world: World;
beforeAll(async () => {
  world = await startWorld({ clusterName: 'test', clock: steadyClock() });
});
afterAll(() => world.stop());

/** Server that holds requests until the test opens it. */
interface Gate {
  readonly url: string;
  /** Resolves with the first request. */
  readonly asked: Promise<void>;
  open(): void;
  shut(): void;
}

let servers: Server[];
let program: RunningProgram | undefined;
beforeEach(() => {
  servers = [];
});
afterEach(async () => {
  program?.kill('SIGKILL');
  await program?.ended;
  program = undefined;
  for (const server of servers) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function gateTo(target: string): Promise<Gate> {
  let isOpen = false;
  const asked = Promise.withResolvers<void>();
  const url = await serve((incoming, response) => {
    asked.resolve();
    if (isOpen) forward(target, incoming, response);
  });
  return {
    url,
    asked: asked.promise,
    open() {
      isOpen = true;
    },
    shut() {
      isOpen = false;
    },
  };
}

function forward(target: string, incoming: IncomingMessage, response: ServerResponse): void {
  const { method, url, headers } = incoming;
  const passed = request(new URL(url ?? '/', target), { method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  passed.on('error', () => response.destroy());
  incoming.pipe(passed);
}

function run(env: Readonly<Record<string, string>> = {}, options: Omit<ProgramOptions, 'env'> = {}): RunningProgram {
  const settings = { ...world.env(), METRICS_PORT: '0', HEALTH_PROBE_PORT: '0', ...env };
  program = runProgram({ env: settings, ...options });
  return program;
}

async function untilAnswer(url: string, isWanted: (status: number, text: string) => boolean): Promise<string> {
  for (;;) {
    try {
      const response = await fetch(url);
      const text = await response.text();
      if (isWanted(response.status, text)) return text;
    } catch {
      // the server does not listen yet
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

describe('readiness', () => {
  it('depends on the first responses of AWS, and not on later ones', async () => {
    const aws = await gateTo(world.aws.url);
    const port = await freePort();
    const operator = run({ AWS_ENDPOINT_URL: aws.url, HEALTH_PROBE_PORT: String(port) });
    const ready = `http://127.0.0.1:${port}/readyz`;
    await aws.asked;
    const refusal = await untilAnswer(ready, (_, text) => text.includes('EC2'));
    expect(refusal).toContain(
      `[-]provider failed: waiting for EC2 DescribeInstanceTypes at ${aws.url} in region us-west-2`,
    );
    expect((await fetch(ready)).status).toBe(500);
    expect((await fetch(`http://127.0.0.1:${port}/healthz`)).status).toBe(200);

    const line = await operator.untilLine(({ message }) => message === 'waiting for the start to complete');
    expect(line['waiting-for']).toContainEqual(expect.stringContaining(`at ${aws.url} in region us-west-2`));
    // the second line is written after attempts have timed out
    await operator.untilLine((each) => JSON.stringify(each['waiting-for'] ?? '').includes('the last attempt failed'));

    aws.open();
    await untilAnswer(ready, (status) => status === 200);
    aws.shut();
    for (let probe = 0; probe < 3; probe += 1) expect((await fetch(ready)).status).toBe(200);

    // a leader waits for calls that EC2 may have processed, but not beyond the grace period of Kubernetes
    await operator.untilLine(({ message }) => message === 'successfully acquired lease');
    operator.kill('SIGTERM');
    const { code } = await operator.ended;
    const isLate = operator.log.some(({ message }) => message.startsWith('work in hand did not finish in time'));
    expect(code).toBe(isLate ? 1 : 0);
    expect(operator.noise).toEqual([]);
  });
});

describe('a signal', () => {
  const debug = { LOG_LEVEL: 'debug' };
  const stopped = async (operator: RunningProgram, signal: NodeJS.Signals = 'SIGTERM'): Promise<void> => {
    operator.kill(signal);
    expect(await operator.ended).toEqual({ code: 0, signal: null });
    expect(operator.noise).toEqual([]);
  };

  it.each(['SIGTERM', 'SIGINT'] as const)('ends a start that waits for AWS: %s', async (signal) => {
    const aws = await gateTo(world.aws.url);
    const operator = run({ AWS_ENDPOINT_URL: aws.url });
    await aws.asked;
    await stopped(operator, signal);
    expect(operator.log.map(({ message }) => message)).toContain('stopped before the start was complete');
  });

  it('ends a start that waits between two attempts', async () => {
    // A free port could become the port of another test, which would answer.
    const refusing = await serve(({ socket }) => socket.destroy());
    const operator = run({ AWS_ENDPOINT_URL: refusing });
    await operator.untilLine(({ message }) => message === 'waiting for the start to complete');
    await stopped(operator);
  });

  it('ends a start that waits for the region', async () => {
    const metadata = await gateTo(world.aws.url);
    const { AWS_REGION: _, AWS_DEFAULT_REGION: __, ...env } = world.env();
    const settings = { ...env, METRICS_PORT: '0', HEALTH_PROBE_PORT: '0', AWS_EC2_METADATA_DISABLED: 'false' };
    program = runProgram({
      env: { ...settings, AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.url, HOME: '/nonexistent' },
    });
    await metadata.asked;
    await stopped(program);
  });

  it('ends a start that waits for the API server', async () => {
    const api = await gateTo(world.kube.url);
    const kubeconfig = world.kube.kubeconfig().replaceAll(world.kube.url, api.url);
    const operator = run({ KUBECONFIG: kubeconfig });
    await api.asked;
    await stopped(operator);
  });

  it.each([
    'discovered karpenter version',
    'discovered region',
    'attempting to acquire leader lease',
    'successfully acquired lease',
  ])('ends a process that has logged "%s"', async (message) => {
    const operator = run(debug);
    await operator.untilLine((line) => line.message === message);
    await stopped(operator);
  });

  const canBePid1 = spawnSync('unshare', ['--pid', '--fork', 'true']).status === 0;
  (canBePid1 ? it : it.skip)('ends process 1 of a container while it starts', async () => {
    const aws = await gateTo(world.aws.url);
    const operator = run({ AWS_ENDPOINT_URL: aws.url }, { isPid1: true });
    await aws.asked;
    await stopped(operator);
  });

  (canBePid1 ? it : it.skip)('ends process 1 of a container while it loads its code', async () => {
    // the first module that is loaded after the installation of the handlers blocks the process
    const hook = `import { registerHooks } from 'node:module'; registerHooks({ load(url, context, next) {
      if (url.includes('/operator-process')) { console.log('{"message":"loading"}'); Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1_000); }
      return next(url, context); } });`;
    const operator = run(
      {},
      { isPid1: true, nodeOptions: ['--import', `data:text/javascript,${encodeURIComponent(hook)}`] },
    );
    await operator.untilLine(({ message }) => message === 'loading');
    await stopped(operator);
  });
});

describe('a start that fails', () => {
  const none = { HOME: '/nonexistent', AWS_EC2_METADATA_DISABLED: 'true' };
  const deny = (action: string, code: string): (() => void) => {
    const id = world.aws.faults.add({ kind: 'error', action, code });
    return () => world.aws.faults.clear(id);
  };

  it.each([
    {
      why: 'no credentials',
      env: { ...none, AWS_ACCESS_KEY_ID: '', AWS_SECRET_ACCESS_KEY: '' },
      message: 'ec2 api connectivity check failed',
      error: 'calling DescribeInstanceTypes, Could not load credentials from any providers',
      remedy: /eks\.amazonaws\.com\/role-arn \(IRSA\).*Pod Identity/,
    },
    {
      why: 'no region',
      env: { ...none, AWS_REGION: '', AWS_DEFAULT_REGION: '' },
      message: 'failed discovering the AWS region',
      error: expect.stringContaining('set AWS_REGION'),
      remedy: /^set AWS_REGION in controller\.env/,
    },
    {
      why: 'a cluster name that EKS does not know',
      env: { CLUSTER_NAME: 'other', CLUSTER_ENDPOINT: '' },
      message: 'failed detecting cluster endpoint',
      error: expect.stringContaining('No cluster found for name: other'),
      remedy: /^set CLUSTER_NAME \(settings\.clusterName\)/,
    },
    {
      why: 'EKS denies DescribeCluster',
      env: { CLUSTER_ENDPOINT: '' },
      fault: ['DescribeCluster', 'AccessDeniedException'],
      message: 'failed detecting cluster endpoint',
      error: expect.any(String),
      remedy: /^allow eks:DescribeCluster in the policies of the operator's role, or set CLUSTER_ENDPOINT/,
    },
    {
      why: 'EC2 denies DescribeInstanceTypes',
      fault: ['DescribeInstanceTypes', 'UnauthorizedOperation'],
      message: 'ec2 api connectivity check failed',
      error: expect.any(String),
      remedy: /^allow ec2:DescribeInstanceTypes in the policies/,
    },
    {
      why: 'credentials have expired',
      fault: ['DescribeInstanceTypes', 'ExpiredToken'],
      message: 'ec2 api connectivity check failed',
      error: expect.any(String),
      remedy: /^renew the credentials/,
    },
    {
      why: 'no kubeconfig',
      env: { KUBECONFIG: '/nonexistent/kubeconfig' },
      message: 'failed starting',
      error: expect.stringContaining('Cannot read kubeconfig "/nonexistent/kubeconfig"'),
      remedy: /^correct the cause/,
    },
    {
      why: 'no cluster name',
      env: { CLUSTER_NAME: '' },
      message: 'failed reading settings',
      error: expect.stringContaining('cluster-name'),
      remedy: /^correct the setting/,
    },
  ])('is reported in one line: $why', async ({ env, fault: [action, code] = [], message, error, remedy }) => {
    const mend = action === undefined || code === undefined ? () => {} : deny(action, code);
    try {
      const operator = run(env);
      expect(await operator.ended).toEqual({ code: 1, signal: null });
      expect(operator.noise).toEqual([]);
      expect(operator.log).toEqual([
        expect.objectContaining({
          level: 'ERROR',
          logger: 'controller',
          message,
          error,
          remedy: expect.stringMatching(remedy),
        }),
      ]);
    } finally {
      mend();
    }
  });
});
