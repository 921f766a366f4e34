/** Drift that `simulate --disruption` and `explain node` compute from objects, with a change and without. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ec2NodeClassHash, nodePoolHash } from '#api/hashes';
import type { EC2NodeClass, NodePool } from '#api/objects';
import { sceneOptions, simulateDisruption } from '../../../src/cli/disruption.ts';
import { parseManifests } from '../../../src/cli/objects/read.ts';
import { validateStored } from '../../../src/cli/objects/stored.ts';
import { type DisruptionAnswer, disruptionText } from '../../../src/cli/render/commands.ts';
import { type TypesFor, typesFor } from '../../../src/cli/scenario.ts';
import { present } from '../../support/present.ts';

const NOW = Date.parse('2026-06-03T10:30:00Z');
const builtIn: TypesFor = (manifests, nowMs) => typesFor({}, manifests, nowMs);

interface PoolParts {
  readonly metadata?: string;
  readonly labels?: string;
  readonly families?: string;
}
const pool = ({ metadata = '', labels = '', families = 'm7g' }: PoolParts = {}): string => `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: default${metadata}}
spec:
  disruption: {consolidateAfter: Never, budgets: [{nodes: 100%}]}
  template:
    metadata: {labels: {${labels}}}
    spec:
      nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}
      requirements:
        - {key: karpenter.sh/capacity-type, operator: In, values: [on-demand]}
        - {key: karpenter.k8s.aws/instance-family, operator: In, values: [${families}]}
`;

interface ClassParts {
  readonly metadata?: string;
  readonly tags?: string;
  readonly image?: string;
  readonly zone?: string;
  readonly alias?: string;
  readonly status?: boolean;
}
const nodeClass = (parts: ClassParts = {}): string => {
  const {
    metadata = '',
    tags = '',
    image = 'ami-1',
    zone = 'us-west-2a',
    alias = 'al2023@latest',
    status = true,
  } = parts;
  return `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: default${metadata}}
spec:
  role: nodes
  amiSelectorTerms: [{alias: ${alias}}]
  subnetSelectorTerms: [{tags: {a: b}}]
  securityGroupSelectorTerms: [{tags: {a: b}}]
  tags: {${tags}}
${
  status
    ? `status:
  conditions: [{type: Ready, status: "True", reason: Ready, lastTransitionTime: "2026-06-03T08:30:00Z"}]
  subnets: [{id: subnet-1, zone: ${zone}, zoneID: usw2-az1}]
  amis: [{id: ${image}, name: image, requirements: [{key: kubernetes.io/arch, operator: In, values: [arm64]}]}]`
    : ''
}
`;
};

const HASHES = {
  pool: nodePoolHash(validateStored<NodePool>(present(parseManifests(pool(), 'pool')[0]))),
  nodeClass: ec2NodeClassHash(
    validateStored<EC2NodeClass>(present(parseManifests(nodeClass(), 'class')[0])),
    'the CA bundle',
  ),
};
const POOL_ANNOTATIONS = `karpenter.sh/nodepool-hash: "${HASHES.pool}", karpenter.sh/nodepool-hash-version: v3`;
const CLASS_ANNOTATIONS = `karpenter.k8s.aws/ec2nodeclass-hash: "${HASHES.nodeClass}", karpenter.k8s.aws/ec2nodeclass-hash-version: v6`;
const LABELS = `
    karpenter.sh/nodepool: default
    karpenter.sh/registered: "true"
    karpenter.sh/initialized: "true"
    karpenter.sh/capacity-type: on-demand
    karpenter.k8s.aws/instance-family: m7g
    kubernetes.io/arch: arm64
    node.kubernetes.io/instance-type: m7g.2xlarge
    topology.kubernetes.io/zone: us-west-2a`;
const node = (conditions = ''): string => `
apiVersion: karpenter.sh/v1
kind: NodeClaim
metadata:
  name: claim-a
  resourceVersion: "3"
  creationTimestamp: 2026-06-03T08:30:00Z
  annotations: {${POOL_ANNOTATIONS}, ${CLASS_ANNOTATIONS}}
  labels:${LABELS}
spec: {nodeClassRef: {group: karpenter.k8s.aws, kind: EC2NodeClass, name: default}, requirements: []}
status:
  providerID: aws:///us-west-2a/i-1
  imageID: ami-1
  conditions:
    - {type: Launched, status: "True"}
    - {type: Initialized, status: "True", lastTransitionTime: 2026-06-03T08:32:00Z}
    ${conditions}
---
apiVersion: v1
kind: Node
metadata:
  name: node-a
  resourceVersion: "4"
  labels:${LABELS}
spec: {providerID: aws:///us-west-2a/i-1}
status:
  capacity: {cpu: "8", memory: 32Gi, pods: "58"}
  allocatable: {cpu: 7910m, memory: 29Gi, pods: "58"}
  conditions: [{type: Ready, status: "True"}]
`;
const IN_CLUSTER = ', resourceVersion: "1"';
const DUMP = {
  pool: pool({ metadata: `${IN_CLUSTER}, annotations: {${POOL_ANNOTATIONS}}` }),
  nodeClass: nodeClass({ metadata: `${IN_CLUSTER}, annotations: {${CLASS_ANNOTATIONS}}` }),
  node: node(),
};

describe('drift on the command line', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'drift-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  async function disruption(dump: Partial<typeof DUMP>, ...changes: readonly string[]): Promise<DisruptionAnswer> {
    const [now, then] = [join(folder, 'now.yaml'), join(folder, 'then.yaml')];
    writeFileSync(now, Object.values({ ...DUMP, ...dump }).join('---\n'));
    writeFileSync(then, changes.join('---\n'));
    const flags = {
      filename: [now],
      ...(changes.length > 0 && { whatIf: [then] }),
      nowMs: NOW,
      output: 'table' as const,
    };
    return (await simulateDisruption({ ...sceneOptions(flags, builtIn), everyMethod: false })).disruption;
  }
  const isDrifted = ({ first }: DisruptionAnswer): boolean => first?.method === 'drift';

  it('is absent without a change', async () => {
    expect(await disruption({})).toEqual({ first: null });
    // The user has applied the object again.
    expect(await disruption({}, pool(), nodeClass({ status: false }))).toEqual({ first: null });
  });

  it.each([
    ['labels of the template', pool({ labels: 'team: a' })],
    ['requirements', pool({ families: 'm7i' })],
    ['static fields of the NodeClass', nodeClass({ tags: 'team: a', status: false })],
  ])('follows from changed %s', async (_, change) => {
    const found = await disruption({}, change);
    expect(isDrifted(found)).toBe(true);
    expect(found.first?.commands).toMatchObject([{ decision: 'delete', candidates: ['node-a'] }]);
  });

  it.each([
    ['an image', { image: 'ami-2' }],
    ['zones', { zone: 'us-west-2b' }],
  ])('follows from %s that the NodeClass has resolved since', async (_, parts) => {
    const changed = nodeClass({ ...parts, metadata: `${IN_CLUSTER}, annotations: {${CLASS_ANNOTATIONS}}` });
    expect(isDrifted(await disruption({ nodeClass: changed }))).toBe(true);
  });

  it('is kept if the operator found it in AWS, and removed if a change reverts it', async () => {
    const drifted = (reason: string): string =>
      node(`- {type: Drifted, status: "True", reason: ${reason}, lastTransitionTime: 2026-06-03T09:32:00Z}`);
    expect(isDrifted(await disruption({ node: drifted('SecurityGroupDrift') }))).toBe(true);
    expect(isDrifted(await disruption({ node: drifted('NodePoolDrifted') }))).toBe(false);
    expect(isDrifted(await disruption({ node: drifted('AMIDrift') }))).toBe(false);
  });

  it('is kept for the NodeClass without a NodeClass in the input, and removed if the NodeClass was deleted', async () => {
    const drifted = node(
      `- {type: Drifted, status: "True", reason: AMIDrift, lastTransitionTime: 2026-06-03T09:32:00Z}`,
    );
    expect(isDrifted(await disruption({ node: drifted, nodeClass: '' }))).toBe(true);
    const other = DUMP.nodeClass.replace('name: default', 'name: other');
    expect(isDrifted(await disruption({ node: drifted, nodeClass: other }))).toBe(false);
  });

  it('is listed as unknown if it cannot be computed', async () => {
    const found = await disruption({}, nodeClass({ alias: 'al2023@v20260101', status: false }));
    expect(found.first).toBeNull();
    expect(found.unknown).toEqual([
      'EC2NodeClass default: the changed spec.amiSelectorTerms can be resolved only by AWS; the images of its status are used, and nodes with other ones would drift',
    ]);
    expect(disruptionText(found)).toMatch(/^UNKNOWN\n {2}EC2NodeClass default: the changed /);
  });
});
