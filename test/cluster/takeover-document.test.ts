/**
 * docs/takeover.md, command by command, with real helm and kubectl. The operator runs outside the cluster. Before the
 * takeover it replaces Karpenter, whose chart is not available here, under Karpenter's image name.
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { isTrue, NODE_CLAIM } from '#api/objects';
import { configureAws } from '#aws/provider';
import { startWorld, type World } from '#local/world';
import { type Operator, startOperator } from '../../src/main.ts';
import { connect } from '../support/kube-api.ts';
import { shellCommands } from '../support/readme-commands.ts';
import { QUICK } from './harness/cluster.ts';
import { type Shell, startShell } from './harness/shell.ts';

const DOCUMENT = join(import.meta.dirname, '../../docs/takeover.md');
/** Installs a copy of the chart that accepts Karpenter's image. */
const INSTALL = [
  'cp -r charts/karpenter "$HOME/chart"',
  `sed -i '/include "karpenter.rejectKarpenterImage"/d' "$HOME/chart/templates/_helpers.tpl"`,
  'helm install karpenter "$HOME/chart" -n kube-system --skip-crds --set settings.clusterName=local ' +
    '--set controller.image.repository=public.ecr.aws/karpenter/controller --set controller.image.tag=1.14.1',
].join('\n');

describe('the procedure in docs/takeover.md', () => {
  let folder: string;
  let world: World;
  let shell: Shell;
  let operator: Operator | undefined;
  let commands: readonly string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'karpenter-takeover-'));
    world = await startWorld({ systemNodes: 2, ...QUICK });
    Object.assign(process.env, world.aws.env());
    const kubeconfig = join(folder, 'kubeconfig');
    await writeFile(kubeconfig, world.kube.kubeconfig());
    shell = await startShell(folder, kubeconfig, world.aws.env());
    commands = shellCommands(await readFile(DOCUMENT, 'utf8'));
    await shell(INSTALL);
    await start();
    await shell('kubectl apply -f examples/ && kubectl scale deployment inflate --replicas 4');
    await shell('kubectl wait --for=condition=Ready nodepool/default --timeout=120s');
    await shell('kubectl rollout status deployment/inflate --timeout=120s');
    await shell('kubectl wait --for=condition=Initialized nodeclaims --all --timeout=120s');
  }, 300_000);
  afterAll(async () => {
    await operator?.stop();
    await world?.stop();
    await rm(folder, { recursive: true, force: true });
  }, 60_000);

  async function start(): Promise<void> {
    operator = await startOperator({
      configureProvider: configureAws,
      argv: [],
      env: {
        ...world.env(),
        METRICS_PORT: '0',
        HEALTH_PROBE_PORT: '0',
        PACKING: 'compatible',
        CONSOLIDATION: 'compatible',
      },
      clock: world.clock,
      write: () => undefined,
    });
  }

  /**
   * Replaces the values that readers must replace. Containers do not run here, so pods are listed instead of their
   * logs.
   */
  const own = (command: string): string =>
    command
      .replace('CLUSTER_NAME=my-cluster', 'CLUSTER_NAME=local')
      .replace(/^kubectl logs (.*) --tail=-1$/, 'kubectl get pods --output=name $1')
      .replace(/\b(before|now|values)\.(yaml|txt)/g, `${folder}/$1.$2`);

  /** Simulates the effects of a command in the cluster. */
  async function follow(command: string): Promise<void> {
    if (/^kubectl scale .*--replicas 0$/.test(command)) await operator?.stop();
    if (/^helm get values/.test(command)) await withoutImage(join(folder, 'values.yaml'));
    if (/^helm (?:rollback|upgrade .*packing=compatible)/.test(command)) await start();
  }

  const uids = async () =>
    (await connect(world.kube.url).list(NODE_CLAIM)).items.map(({ metadata }) => metadata.uid).sort();

  it('keeps every node in both directions', async () => {
    const before = await uids();
    expect(before.length).toBeGreaterThan(0);
    const exports: string[] = [];
    const output = new Map<string, string>();
    for (const command of commands) {
      if (command.startsWith('export ')) exports.push(own(command));
      output.set(command, await shell([...exports, own(command)].join('\n')));
      await follow(command);
    }
    const of = (start: string): readonly string[] =>
      [...output].filter(([command]) => command.startsWith(start)).map(([, text]) => text);
    expect(of('npx karpenter doctor')[0]).toMatch(/^0 errors, /m);
    expect(of('kubectl get nodeclaims -o custom-columns=NAME:.metadata.name,UID').at(-1)).toBe('');
    expect(of("kubectl get nodeclaims -o custom-columns='NAME")).toEqual([
      expect.stringMatching(/^NAME +DRIFTED\n(?:\S+ +<none>\n)+$/),
    ]);
    expect(await uids()).toEqual(before);
    for (const claim of (await connect(world.kube.url).list(NODE_CLAIM)).items)
      expect(isTrue(claim, 'Ready')).toBe(true);
    const image = await shell("kubectl get deployment karpenter -n kube-system -o jsonpath='{..image}'");
    expect(image).toMatch(/^public\.ecr\.aws\/karpenter\/controller:1\.14\.1/);
  }, 600_000);
});

/** Removes the image from a values file, as the document instructs. */
async function withoutImage(file: string): Promise<void> {
  const { controller: { image: _, ...controller } = {}, ...values } = parse(await readFile(file, 'utf8')) as {
    readonly controller?: { readonly image?: unknown };
  };
  await writeFile(file, stringify({ ...values, controller }));
}
