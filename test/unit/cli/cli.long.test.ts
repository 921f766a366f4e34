import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';

const BIN = join(import.meta.dirname, '../../../bin/karpenter.js');
const folder = mkdtempSync(join(tmpdir(), 'karpenter-cli-'));
afterAll(() => rmSync(folder, { recursive: true }));

interface Run {
  readonly child: ChildProcess;
  readonly output: () => string;
  readonly errors: () => string;
  readonly exit: Promise<number | null>;
}

function run(...args: string[]): Run {
  const child = spawn(process.execPath, [BIN, ...args], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
  let [output, errors] = ['', ''];
  child.stdout?.on('data', (chunk) => {
    output += String(chunk);
  });
  child.stderr?.on('data', (chunk) => {
    errors += String(chunk);
  });
  const exit = once(child, 'close').then(([code]) => code as number | null);
  return { child, output: () => output, errors: () => errors, exit };
}

describe('the command line', () => {
  it('lists its verbs', async () => {
    const help = run('--help');
    expect(await help.exit).toBe(0);
    for (const verb of ['demo', 'local', 'simulate']) expect(help.output()).toMatch(new RegExp(`^ {2}${verb} `, 'm'));
    expect(help.output()).toMatch(/^Why is it so\?\n {2}explain /m);
    expect(help.output()).not.toMatch(/^ {2}(blockers|budgets|moves) /m);
  });

  it.each([
    ['help'],
    ['help', 'explain', 'node'],
    ['explain', 'node', '--help'],
    ['help', 'report', 'moves'],
  ])('helps with %s %s %s', async (...args) => {
    const help = run(...args.filter((arg) => arg !== undefined));
    expect(await help.exit).toBe(0);
    const verbs = args.filter((arg) => arg !== undefined && arg !== 'help' && arg !== '--help');
    expect(help.output()).toMatch(new RegExp(`^Usage: ${['karpenter', ...verbs].join(' ')}[ |]`));
  });

  it('prints its version', async () => {
    const version = run('--version');
    expect(await version.exit).toBe(0);
    expect(version.output()).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it.each([
    ['an unknown verb', ['dance'], /^error: unknown command 'dance'\n\(karpenter --help lists the commands\)\n$/],
    ['no verb', [], /Usage/],
    ['an unknown option', ['local', '--nonsense'], /--nonsense/],
    ['an unknown option of a nested verb', ['explain', 'node', '--nonsense'], /--nonsense/],
    ['two sources', ['explain', 'node', '-f', 'a', '--server', 'b'], /either manifests with -f or an operator/],
    ['a time scale of nothing', ['local', '--time-scale', '0'], /greater than 0/],
    ['machines without speed', ['demo', '--machine-speed', '0'], /greater than 0/],
    ['a fault of an unknown kind', ['demo', '--fault', '{"kind":"x"}'], /Cannot add a fault of kind "x": use one of /],
    ['a fault that is no object', ['demo', '--fault', 'null'], /--fault <json>.* is invalid\. Expected an object/],
    ['a fault that is not JSON', ['demo', '--fault', 'capacity'], /--fault <json>.* is invalid/],
    ['a port that is none', ['local', '--kube-port', '70000'], /65535/],
  ])('rejects %s with exit code 2', async (_, args, message) => {
    const refused = run(...args);
    expect(await refused.exit).toBe(2);
    expect(refused.output()).toBe('');
    expect(refused.errors()).toMatch(message);
  });
});

describe('karpenter migrate status', () => {
  it('ends with 1 if its arguments are invalid, because 2 means unfinished steps', async () => {
    const refused = run('migrate', 'status', '--nonsense');
    expect(await refused.exit).toBe(1);
    expect(refused.errors()).toContain('--nonsense');
  });
});

describe('karpenter local', () => {
  it('prints environment variables, writes a kubeconfig and ends on SIGTERM', async () => {
    const local = run('local', '--kubeconfig', 'kubeconfig', '--cluster-name', 'mine', '--time-scale', '2');
    while (!local.output().includes('Ctrl-C') && local.child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 50));
    const exported = new Map(
      [...local.output().matchAll(/^export (\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]),
    );
    expect(exported.get('KUBECONFIG')).toMatch(/\/kubeconfig$/);
    expect(existsSync(join(folder, 'kubeconfig'))).toBe(true);
    expect(exported.get('CLUSTER_NAME')).toBe('mine');
    for (const name of [
      'AWS_ENDPOINT_URL',
      'AWS_REGION',
      'AWS_ACCESS_KEY_ID',
      'AWS_SECRET_ACCESS_KEY',
      'INTERRUPTION_QUEUE',
    ])
      expect(exported.get(name)).toBeTruthy();
    const version = await fetch(`${exported.get('CLUSTER_ENDPOINT')}/version`);
    expect(version.status).toBe(200);
    expect(local.errors()).toMatch(/^note: with --time-scale, timestamps in this cluster differ/);
    local.child.kill('SIGTERM');
    expect(await local.exit).toBe(0);
  });
});

describe('karpenter demo', () => {
  it('stops everything when it is interrupted, and exits without an error', async () => {
    const demo = run('demo');
    while (!/^ +[\d.]+s {2}operator /m.test(demo.output()) && demo.child.exitCode === null)
      await new Promise((resolve) => setTimeout(resolve, 50));
    demo.child.kill('SIGINT');
    expect(await demo.exit).toBe(130);
    expect(demo.output()).toMatch(/\nInterrupted: /);
  }, 60_000);

  it('plays faults, and ends with commands to try next', async () => {
    const demo = run('demo', '--machine-speed', '20', '--fault', '{"kind":"capacity","capacityType":"spot"}');
    expect(await demo.exit).toBe(0);
    expect(demo.output()).toMatch(/withdrawn +default-\w+: no instance was launched for it\n/);
    expect(demo.output()).toMatch(/launched +default-\w+: .*, on-demand, /);
    const [, command = ''] = demo.output().match(/\nTry next\n# .*\nnpx karpenter (.*)\n/) ?? [];
    const [, change = ''] = command.match(/"(.*)"/) ?? [];
    expect(command).toBe(`simulate -f examples/ --what-if "${change}"`);
    const simulation = run('simulate', '-f', join(import.meta.dirname, '../../../examples'), '--what-if', change);
    expect(await simulation.exit).toBe(0);
    expect(simulation.output()).toMatch(/^[1-9]\d* new nodes for /m);
  }, 240_000);

  it('starts its operator again if it is killed, and goes on with the same objects', async () => {
    const demo = run('demo', '--machine-speed', '20');
    const printed = async (pattern: RegExp): Promise<RegExpMatchArray> => {
      for (;;) {
        const match = demo.output().match(pattern);
        if (match !== null) return match;
        if (demo.child.exitCode !== null) throw new Error(`the demo ended:\n${demo.output()}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    await printed(/kubectl scale deployment inflate --replicas=\d+/);
    const [, pid = ''] = await printed(/operator +process (\d+),/);
    process.kill(Number(pid), 'SIGKILL');
    await printed(/operator +exited with SIGKILL, and is started again/);
    await printed(/EC2 interrupts spot instance|No spot instance to interrupt/);
    expect(demo.output().match(/operator +process \d+,/g)).toHaveLength(2);
    demo.child.kill('SIGINT');
    expect(await demo.exit).toBe(130);
  }, 240_000);
});
