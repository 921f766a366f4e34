import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { explainCommand } from '../../../src/cli/explain.ts';

const POOL = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default}
spec:
  template:
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements: [{key: karpenter.k8s.aws/instance-family, operator: In, values: [m7g]}]
`;
const NODE = `
apiVersion: v1
kind: Node
metadata: {name: node-a, labels: {karpenter.sh/registered: "true", karpenter.sh/initialized: "true"}}
spec: {providerID: aws:///us-west-2a/i-1}
status:
  capacity: {cpu: "1", memory: 4Gi, pods: "10"}
  allocatable: {cpu: "1", memory: 4Gi, pods: "10"}
  conditions: [{type: Ready, status: "True"}]
`;
const pod = (name: string, cpu: string, nodeName = ''): string => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec: {nodeName: "${nodeName}", containers: [{name: app, resources: {requests: {cpu: "${cpu}"}}}]}
`;

describe('karpenter explain pod', () => {
  let folder: string;
  let file: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'explainpod-'));
    file = join(folder, 'now.yaml');
    const pods = [pod('there', '100m', 'node-a'), pod('small', '100m'), pod('large', '3'), pod('huge', '9999')];
    writeFileSync(file, [POOL, NODE, ...pods].join('---\n'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const explained = (...args: readonly string[]): Promise<string> => asked(...args, '-f', file);
  const asked = async (...args: readonly string[]): Promise<string> => {
    const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
    const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      await explainCommand().parseAsync(['pod', ...args], { from: 'user' });
      return written.mock.calls.map(([text]) => String(text)).join('');
    } finally {
      written.mockRestore();
      noted.mockRestore();
    }
  };

  it('accepts the namespace before the name', async () => {
    const text = await explained('default/small');
    expect(text).toBe(await explained('small', '-n', 'default'));
    await expect(explained('shop/small')).rejects.toThrow('pod "shop/small" not found');
  });

  it('shows a default NodeClass for a manifest, but not for a NodePool of a cluster without its NodeClass', async () => {
    const notes = async (pool: string): Promise<string> => {
      const path = join(folder, 'class.yaml');
      writeFileSync(path, [pool, pod('small', '1')].join('---\n'));
      const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
      try {
        await explainCommand().parseAsync(['budgets', '-f', path], { from: 'user' });
        await explainCommand().parseAsync(['pod', 'small', '-f', path], { from: 'user' });
        return noted.mock.calls.map(([text]) => String(text)).join('');
      } finally {
        noted.mockRestore();
      }
    };
    expect(await notes(POOL)).toContain('a default AL2023 EC2NodeClass is used instead');
    const message = 'NodeClass not found on cluster';
    const conditions = `[{type: NodeClassReady, status: "False", reason: NodeClassNotFound, message: ${message}}, {type: Ready, status: "False", reason: UnhealthyDependents, message: NodeClassReady=False}]`;
    expect(await notes(`${POOL}status: {conditions: ${conditions}}\n`)).not.toContain('is used instead');
  });

  it('shows the place of a pod after its remedy, or the cause that remains', async () => {
    expect(await explained('huge', '--check-remedy')).toMatch(
      /checked {2}if the pod requests less, the pod goes to node node-a\n/,
    );
    const limited = join(folder, 'limited.yaml');
    const pool = POOL.replace('spec:\n', 'spec:\n  limits: {cpu: "1"}\n');
    const spec = 'spec: {nodeSelector: {karpenter.k8s.aws/instance-family: c7g}, ';
    writeFileSync(limited, [pool, pod('arm', '1').replace('spec: {', spec)].join('---\n'));
    const text = await asked('arm', '--check-remedy', '-f', limited);
    expect(text).toMatch(/because {2}.*Add "c7g" to .*\. A further cause remains: .*Increase spec\.limits\.cpu/);
    expect(text).toMatch(
      /checked {2}if "c7g" is allowed .*, a further cause remains: .*If also spec\.limits\.cpu .* new node/,
    );
    const { proof } = JSON.parse(await asked('arm', '--check-remedy', '-o', 'json', '-f', limited));
    expect(proof.steps.map((step: { cause: { code: string } }) => step.cause.code)).toEqual(['requirements', 'limits']);
    expect(proof.place).toMatchObject({ nodePool: 'default' });
  });

  it.each([
    ['there', 'running', /the pod is on node node-a/],
    ['small', 'fits', /the pod fits on node node-a/],
    ['large', 'bought', /NodePool default launches a node for the pod: m7g\.xlarge for \$/],
    ['huge', 'unschedulable', /NodePool "default" has no instance type with enough room: the pod requests cpu 9999/],
  ])('prints for %s: %s', async (name, code, because) => {
    const text = await explained(name);
    expect(text).toMatch(new RegExp(`^Pod default/${name}\n  verdict  ${code}\n  because  `));
    expect(text).toMatch(because);
  });

  describe('for a pod with a nominated node', () => {
    const nominated = (node: string): string =>
      `${pod('waits', '500m').replace('{nodeName: "",', '{priority: 10,')}status:
  phase: Pending
  nominatedNodeName: ${node}
  conditions:
    - {type: PodScheduled, status: "False", reason: Unschedulable, lastTransitionTime: "2026-01-01T00:00:00Z"}
`;
    /** A pod that uses the node and is being deleted. */
    const leaving = (reason: string): string =>
      `${pod('leaves', '900m', 'node-a').replace('{name: leaves}', `{name: leaves, deletionTimestamp: "${new Date(Date.now() + 20_000).toISOString()}"}`)}status:
  phase: Running
  conditions: [{type: DisruptionTarget, status: "True", reason: ${reason}}]
`;
    const explainedWith = async (...objects: readonly string[]): Promise<string> => {
      const path = join(folder, 'nominated.yaml');
      writeFileSync(path, [POOL, NODE, ...objects].join('---\n'));
      return asked('waits', '-f', path);
    };

    it('prints that kube-scheduler preempts pods', async () => {
      expect(await explainedWith(nominated('node-a'), leaving('PreemptionByScheduler'))).toMatch(
        /verdict {2}waiting\n {2}because {2}kube-scheduler preempts pods on node node-a to make room for the pod/,
      );
    });

    it('prints the new node if pods on the nominated node end for another reason, or if the node does not exist', async () => {
      const bought = /verdict {2}bought\n {2}because {2}NodePool default launches a node for the pod/;
      expect(await explainedWith(nominated('node-a'), leaving('EvictionByEvictionAPI'))).toMatch(bought);
      expect(await explainedWith(nominated('node-z'), pod('stays', '900m', 'node-a'))).toMatch(bought);
    });
  });

  it('adds the remedy if claims are ignored', async () => {
    const claiming = join(folder, 'claiming.yaml');
    const resourceClaims = '{resourceClaims: [{name: gpu, resourceClaimName: gpu}]';
    writeFileSync(claiming, [POOL, pod('claiming', '1').replace('{nodeName: ""', resourceClaims)].join('---\n'));
    expect(await asked('claiming', '-f', claiming)).toMatch(
      /not yet supported by Karpenter; set\s+IGNORE_DRA_REQUESTS=false/,
    );
    expect(await asked('claiming', '-f', claiming, '--dra')).toContain('resourceclaim "default/gpu" not found');
  });

  it('lists the reason of each NodePool', async () => {
    expect(await explained('huge')).toMatch(/\nNODEPOOL +CODE +BECAUSE\ndefault +instance-types +no instance type has/);
    expect(JSON.parse(await explained('huge', '-o', 'json'))).toMatchObject({
      pod: 'default/huge',
      code: 'unschedulable',
      nodePools: [{ nodePool: 'default', code: 'instance-types' }],
    });
    expect(await explained('huge', '-o', 'yaml')).toMatch(/^pod: default\/huge\ncode: unschedulable\n/);
  });

  describe('with an operator that holds pods back', () => {
    const hold = {
      code: 'not-bound',
      text: 'nodes that were launched for such pods did not run them: the node does not have the label team, but the pod selects team In [a]',
      since: '2026-01-01T00:00:00Z',
      until: '2026-01-01T00:10:00Z',
      times: 1,
    };
    const verdicts = ['default/large', 'default/there'].map((pod) => ({
      ...{ pod, code: 'held', text: `no nodes are launched for the pod now: ${hold.text}` },
      ...{ since: hold.since, until: hold.until },
    }));
    const server = createServer((request, response) => {
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://operator');
      response.statusCode = pathname === '/debug/pods' ? 200 : 404;
      const name = searchParams.get('pod');
      const unknown = { pod: name, code: 'unknown', text: 'no such pod' };
      const answer = name === null ? verdicts : (verdicts.find(({ pod }) => pod === name) ?? unknown);
      response.end(JSON.stringify(answer));
    });
    // On a busy machine the test may reuse a connection after the default limit of five idle seconds.
    server.keepAliveTimeout = 0;
    let url: string;
    beforeAll(async () => {
      await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });
    afterAll(() => {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      return closed;
    });

    const HELD = `Pod default/large
  verdict  held
  because  no nodes are launched for the pod now: ${hold.text}
  since    2026-01-01T00:00:00Z
  until    2026-01-01T00:10:00Z
`;

    it('prints the reason, the start and the end', async () => {
      expect(await asked('large', '--server', url)).toBe(HELD);
      expect(JSON.parse(await asked('large', '--server', url, '-o', 'json'))).toEqual({
        pod: 'default/large',
        code: 'held',
        text: `no nodes are launched for the pod now: ${hold.text}`,
        since: hold.since,
        until: hold.until,
      });
    });

    it('fails for a pod that the operator does not have', async () => {
      await expect(asked('small', '--server', url)).rejects.toThrow(
        `pod "default/small" not found by the operator at ${url}; pending pods: default/large, default/there`,
      );
    });

    it('lists all pending pods without a name', async () => {
      expect(await asked('--server', url)).toMatch(
        /^2 pending pods\n\n2 pods {2}held\n {2}no nodes are launched .*\n {2}default\/large, default\/there\n/,
      );
      expect(await asked('--server', url, '-n', 'web')).toBe('no pending pods\n');
    });

    it('reports a pod in manifests as held instead of simulating it', async () => {
      expect(await explained('large', '--server', url)).toBe(HELD);
      expect(await explained('there', '--server', url)).toMatch(/verdict {2}running/);
      expect(await explained('small', '--server', url)).toMatch(/verdict {2}fits/);
    });
  });

  it('lists pending pods by reason, pods that cannot be scheduled first', async () => {
    const text = await explained();
    expect(text.replace(/ for \$.*/, '').replace(/(9999), but.*/, '$1')).toBe(
      `3 pending pods

1 pod  unschedulable
  NodePool "default" has no instance type with enough room: the pod requests cpu 9999
  default/huge

1 pod  bought
  NodePool default launches a node for the pod: m7g.xlarge
  default/large

1 pod  fits
  the pod fits on node node-a
  default/small

karpenter explain pod NAME -n NAMESPACE shows the reason of each NodePool
`,
    );
    const verdicts = JSON.parse(await explained('-o', 'json')) as readonly { readonly pod: string }[];
    expect(verdicts.map(({ pod: name }) => name).sort()).toEqual(['default/huge', 'default/large', 'default/small']);
  });

  it('groups pods with the same cause, although their requests differ', async () => {
    const many = join(folder, 'many.yaml');
    const pods = Array.from({ length: 12 }, (_, at) => pod(`big-${at}`, String(8_000 + at)));
    writeFileSync(many, [POOL, ...pods].join('---\n'));
    const text = await asked('-f', many);
    expect(text).toMatch(
      /^12 pending pods\n\n12 pods {2}unschedulable\n.*\n {2}default\/big-0, default\/big-1, default\/big-10 and 9 more\n\n/,
    );
  });

  it('identifies pods by their namespace', async () => {
    await expect(explained('small', '-n', 'web')).rejects.toThrow(
      `pod "web/small" not found in ${file}; existing names: default/huge, default/large, default/small, default/there`,
    );
  });

  it('names the omitted Nodes in the verdict of a pod', async () => {
    const dump = join(folder, 'dump.yaml');
    writeFileSync(
      dump,
      [
        POOL,
        NODE.replace(/labels: [{]/, 'labels: {karpenter.sh/nodepool: default, ').replace(
          /providerID: [^}]+/,
          'unschedulable: false',
        ),
        pod('there', '100m', 'node-a'),
      ].join('---\n'),
    );
    const written = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
    try {
      const asked = explainCommand().parseAsync(['pod', 'there', '-f', dump], { from: 'user' });
      await expect(asked).rejects.toThrow('pod "default/there" not found');
      expect(written.mock.calls.join('')).toMatch(/node-a.*no spec\.providerID; the Node is skipped/);
    } finally {
      written.mockRestore();
    }
  });
});
