/** `karpenter migrate plan` for clusters at each stage. */
import { describe, expect, it } from '@jest/globals';
import { MIGRATE_PLAN } from '../../../../../scripts/reference/outputs/migrate.ts';
import { planMarkdown } from '../../../../../src/cli/migrate/plan/markdown.ts';
import { planOf } from '../../../../../src/cli/migrate/plan/plan.ts';
import type { MigrationPlan, MigrationStep, Source } from '../../../../../src/cli/migrate/plan/step.ts';
import { strictly } from '../../../scripts/strictly.ts';
import {
  ALPHA,
  AUTOSCALED,
  autoscaler,
  BETA,
  BOTH,
  CLUSTERS,
  CONVERSION,
  factsOf,
  karpenter,
  liveFactsOf,
  MANAGED,
  managed,
  node,
  type Parts,
  provisioner,
  V1,
} from '../clusters.ts';

const NONE = new Map<string, string>();
const plan = (parts: Parts, from?: Source, groups: ReadonlyMap<string, string> = NONE): MigrationPlan =>
  planOf(liveFactsOf(parts), { from, groups });
const titles = (found: MigrationPlan): readonly string[] => found.steps.map(({ title }) => title);
const step = (found: MigrationPlan, title: string | RegExp): MigrationStep => {
  const [own] = found.steps.filter((each) =>
    typeof title === 'string' ? each.title === title : title.test(each.title),
  );
  if (own === undefined) throw new Error(`no step ${title} among ${titles(found).join('; ')}`);
  return own;
};
const commands = (found: MigrationPlan): readonly string[] => found.steps.flatMap((each) => each.commands);
/** Returns the position of a command among all commands. */
const at = (found: MigrationPlan, command: RegExp): number => {
  const place = commands(found).findIndex((each) => command.test(each));
  if (place < 0) throw new Error(`no command ${command}`);
  return place;
};

describe('a plan as Markdown', () => {
  it.each(Object.entries(CLUSTERS))('prints %s', (_, parts) => {
    expect(`\n${planMarkdown(plan(parts), 110)}`).toMatchSnapshot();
  });

  it('keeps commands on one line, and all else within the terminal', () => {
    const lines = planMarkdown(plan(ALPHA), 80).split('\n');
    let isCode = false;
    for (const line of lines) {
      if (line.startsWith('```')) isCode = !isCode;
      else if (!isCode && !/^(?:# |- (?:kubectl|helm|aws|karpenter) )/.test(line))
        expect(line.length).toBeLessThanOrEqual(80);
    }
    expect(lines.filter((line) => line.startsWith('helm upgrade')).length).toBeGreaterThan(5);
  });
});

describe('a plan as JSON', () => {
  it.each(Object.entries(CLUSTERS))('fits its schema for %s', (_, parts) => {
    expect(strictly(MIGRATE_PLAN, JSON.parse(JSON.stringify(plan(parts))))).toEqual([]);
  });
});

describe('a file of a plan', () => {
  it.each<[string, Parts]>([
    ...Object.entries(CLUSTERS),
    ['a cluster with one group, which keeps the operator', [managed('a', 'system', 'us-west-2a')]],
  ])('is written before it is applied: %s', (_, parts) => {
    const written = new Set<string>();
    for (const command of commands(plan(parts))) {
      for (const [, file = ''] of command.matchAll(/kubectl apply -f (\S+\.yaml)/g))
        expect([...written]).toContain(file);
      for (const [, file = ''] of command.matchAll(/> (\S+\.yaml)/g)) written.add(file);
    }
  });
});

describe('the origin of a cluster', () => {
  it.each([
    [ALPHA, 'karpenter-alpha', 'Karpenter v0.31.3 is running'],
    [BOTH, 'karpenter-alpha', 'Karpenter v0.32.9 is running'],
    [[provisioner('x')], 'karpenter-alpha', 'Provisioners exist'],
    [BETA, 'karpenter', 'Karpenter 0.37.0 is running'],
    [V1, 'karpenter', 'Karpenter 1.14.1 is running'],
    [AUTOSCALED, 'cluster-autoscaler', 'cluster-autoscaler is running'],
    [[node('a', {})], 'cluster-autoscaler', 'nodes of Auto Scaling groups exist'],
    [MANAGED, 'managed-node-groups', 'nodes of managed node groups exist: system, workers'],
  ] as const)('is detected, with the reason', (parts, from, guessed) => {
    expect(plan(parts)).toMatchObject({ from, guessed });
  });

  it('is the given origin if it exists', () => {
    expect(plan(AUTOSCALED, 'managed-node-groups')).toMatchObject({ from: 'managed-node-groups', guessed: null });
    expect(() => plan(MANAGED, 'karpenter')).toThrow(
      '--from karpenter: the cluster has no Karpenter; detected source: --from managed-node-groups',
    );
    expect(() => plan([])).toThrow('set the source, for example --from');
    expect(() => plan([karpenter('latest')])).toThrow(
      'the version of Karpenter is unknown, because its image is "latest"',
    );
  });
});

describe('the path from alpha', () => {
  const found = plan(ALPHA);

  it('includes every required version', () => {
    expect(titles(found).filter((title) => title.startsWith('Karpenter '))).toEqual([
      ...['CRDs', 'permissions in AWS', 'chart'].map((part) => `Karpenter 0.32.9: ${part}`),
      ...['CRDs', 'permissions in AWS', 'chart'].map((part) => `Karpenter 0.37.7: ${part}`),
      ...['CRDs', 'permissions in AWS', 'chart'].map((part) => `Karpenter 1.0.x: ${part}`),
      ...['permissions in AWS', 'CRDs', 'chart'].map((part) => `Karpenter 1.14.1: ${part}`),
    ]);
  });

  it('has NodePools before the taint, the taint before the drain, and the objects deleted last, all on 0.32', () => {
    const order = [
      /karpenter-crd .*v0\.32\.9/,
      /helm upgrade karpenter .*v0\.32\.9/,
      /kubectl apply -f beta.yaml/,
      /kubectl patch provisioner default/,
      /kubectl drain ip-10-1-35-97/,
      /kubectl drain ip-10-1-35-98/,
      /kubectl delete provisioner default/,
      /karpenter-crd .*0\.37\.7/,
      /kubectl delete configmap karpenter-global-settings -n karpenter/,
      /karpenter-crd .*~1\.0\.0/,
      /karpenter convert -f manifests -R --in-place/,
      /karpenter-crd .*1\.14\.1/,
      /kubectl delete mutatingwebhookconfiguration defaulting/,
      /helm upgrade karpenter charts\/karpenter/,
    ].map((command) => at(found, command));
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  it('warns of CRDs and Provisioners that delete their nodes, and never deletes a CRD', () => {
    expect(commands(found).filter((command) => /delete crd/.test(command))).toEqual([]);
    expect(step(found, 'Karpenter 0.32.9: CRDs').warnings?.[0]).toMatch(/^Never delete a CRD/);
    expect(step(found, 'Karpenter 0.37.7: CRDs').warnings?.[1]).toMatch(/removes the alpha CRDs/);
    expect(step(found, 'Delete the alpha objects').warnings).toHaveLength(1);
  });

  it('labels existing CRDs for the chart that will own them', () => {
    expect(step(found, 'Karpenter 0.32.9: CRDs').commands.slice(0, 2)).toEqual([
      'kubectl label crd machines.karpenter.sh provisioners.karpenter.sh awsnodetemplates.karpenter.k8s.aws app.kubernetes.io/managed-by=Helm --overwrite',
      'kubectl annotate crd machines.karpenter.sh provisioners.karpenter.sh awsnodetemplates.karpenter.k8s.aws meta.helm.sh/release-name=karpenter-crd meta.helm.sh/release-namespace=karpenter --overwrite',
    ]);
  });

  it('keeps the taints that a Provisioner has', () => {
    const parts = ALPHA.filter(({ kind }) => kind !== 'Provisioner');
    const { commands: patch, back } = step(
      plan([...parts, provisioner('gpu', ['nvidia.com/gpu'])]),
      /^Keep new pods off/,
    );
    expect(patch).toEqual([
      `kubectl patch provisioner gpu --type merge -p '{"spec":{"taints":[{"key":"nvidia.com/gpu","effect":"NoSchedule"},{"key":"karpenter.sh/legacy","value":"true","effect":"NoSchedule"}]}}'`,
    ]);
    expect(back).toEqual([
      `kubectl patch provisioner gpu --type merge -p '{"spec":{"taints":[{"key":"nvidia.com/gpu","effect":"NoSchedule"}]}}'`,
    ]);
  });

  it('starts at the current stage of the cluster', () => {
    expect(titles(plan(BOTH)).slice(2, 9)).toEqual([
      'Allow workloads on nodes of Provisioners and NodePools',
      'Create a NodePool for each Provisioner',
      'Keep new pods off the old Provisioners',
      'Replace the old nodes',
      'Delete the alpha objects',
      'Karpenter 0.37.7: CRDs',
      'Karpenter 0.37.7: permissions in AWS',
    ]);
  });
});

describe('the path from beta and v1', () => {
  it('includes the last patch, 1.0, v1 only, and the takeover', () => {
    expect(
      titles(plan(BETA)).filter(
        (title) => title.endsWith('chart') || title.startsWith('Convert manifests') || title.startsWith('Stop'),
      ),
    ).toEqual([
      'Karpenter 0.37.7: chart',
      'Karpenter 1.0.x: chart',
      'Convert manifests to v1',
      'Karpenter 1.14.1: chart',
      'Stop Karpenter and start the operator',
    ]);
  });

  it('has manifests of v1 before 1.1', () => {
    const found = titles(plan(CONVERSION));
    expect(found.indexOf('Convert manifests to v1')).toBeGreaterThan(0);
    expect(found.indexOf('Convert manifests to v1')).toBeLessThan(found.indexOf('Karpenter 1.14.1: CRDs'));
  });

  it('is only the takeover from 1.1 on', () => {
    expect(titles(plan(V1))).toEqual([
      'Save the current state',
      'Check for blockers',
      'Check before the takeover',
      'Stop Karpenter and start the operator',
      'Clean up',
    ]);
  });
});

describe('the path from groups', () => {
  it('drains and scales down every group except the group of the controller', () => {
    const found = plan(MANAGED);
    expect(titles(found)).toEqual([
      'Save the current state',
      'CRDs',
      'Set up permissions, role, queue and tags in AWS',
      'Install the operator',
      'Create NodePools and EC2NodeClasses for the groups',
      'Drain workers',
      'Scale workers down',
      'Clean up',
    ]);
    expect(step(found, 'Install the operator').text[1]).toMatch(/^The group system \(1 node in us-east-1a\) stays/);
    expect(step(found, 'Drain workers').commands).toEqual([
      'kubectl cordon ip-10-1-2-1 ip-10-1-2-2',
      'kubectl drain ip-10-1-2-1 --ignore-daemonsets --delete-emptydir-data',
      'kubectl drain ip-10-1-2-2 --ignore-daemonsets --delete-emptydir-data',
    ]);
    expect(commands(found)).toContain(
      'karpenter convert managed-node-groups -f workers.json --pods now.yaml > nodepools.yaml',
    );
  });

  it('uses the names of Auto Scaling groups in AWS or in the arguments of cluster-autoscaler', () => {
    const parts = [autoscaler(), ...MANAGED, node('own-1', {}), node('own-2', {})];
    const id = (name: string) => `i-${Buffer.from(name).toString('hex').padStart(17, '0').slice(-17)}`;
    const both = plan(
      parts,
      'cluster-autoscaler',
      new Map([
        [id('own-1'), 'asg one'],
        [id('own-2'), 'asg-two'],
      ]),
    );
    expect(titles(both)).toEqual(
      expect.arrayContaining(['Drain asg one', 'Scale asg-two down', 'Stop cluster-autoscaler']),
    );
    expect(commands(both)).toContain(
      "aws autoscaling describe-auto-scaling-groups --auto-scaling-group-names 'asg one' > asg-one.json",
    );
    expect(titles(plan(parts, 'cluster-autoscaler'))).toContain('Drain shop-workers');
    const unnamed = plan([autoscaler(1, ['./cluster-autoscaler']), ...MANAGED, node('own-1', {})]);
    expect(titles(unnamed)).toContain('Drain GROUP');
    expect(unnamed.open).toContainEqual(expect.stringContaining('GROUP is its placeholder'));
  });

  it('stops cluster-autoscaler after the NodePools exist, and before the first drain', () => {
    const found = plan(AUTOSCALED);
    const [apply, stop, drain] = [
      /apply -f nodepools/,
      /scale deployment cluster-autoscaler .* --replicas 0/,
      /kubectl cordon/,
    ].map((command) => at(found, command));
    expect(apply).toBeLessThan(stop ?? 0);
    expect(stop).toBeLessThan(drain ?? 0);
    expect(step(found, 'Stop cluster-autoscaler').back?.[0]).toContain('--replicas 1');
    expect(commands(found)).toContainEqual(
      expect.stringMatching(
        /^karpenter convert cluster-autoscaler -f cluster-autoscaler.yaml -f priorities.yaml -f shop-workers.json --pods/,
      ),
    );
  });

  it('converts groups of both kinds by the verb of each, without a cluster-autoscaler', () => {
    const found = plan([...MANAGED, node('own-1', {})], 'cluster-autoscaler', new Map());
    expect(
      commands(found).filter((command) => command.includes('karpenter convert') && command.includes('--pods')),
    ).toEqual([
      'karpenter convert managed-node-groups -f workers.json --pods now.yaml > nodepools.yaml',
      'echo --- >> nodepools.yaml && karpenter convert auto-scaling-groups -f GROUP.json --pods now.yaml >> nodepools.yaml',
    ]);
  });

  it('reports that no group remains for the controller', () => {
    const found = plan([managed('a', 'workers')]);
    expect(found.open).toContain('no group was found for the controller');
  });
});

describe('a plan of odd objects', () => {
  it('is rejected with a remedy', () => {
    const odd = { ...provisioner('x'), spec: { taints: 7 } };
    expect(() => plan([karpenter('v0.31.0'), odd])).toThrow(
      /does not match the schema of its kind .* karpenter snapshot/,
    );
  });
});

describe('the list of open points', () => {
  it('contains unread objects, the name of the cluster and the image', () => {
    const found = planOf(factsOf(MANAGED, { notRead: [{ kind: 'Deployment', why: 'forbidden', effect: '' }] }), {
      groups: NONE,
    });
    expect(found.open).toEqual([
      'Deployment: forbidden; the plan does not include them',
      'the name of the cluster is unknown; set it with export CLUSTER_NAME',
      'set IMAGE to the operator image that you have built and pushed, with export IMAGE',
    ]);
    expect(planOf(liveFactsOf(MANAGED), { groups: NONE, clusterName: 'shop' }).cluster).toBe('shop');
  });
});
