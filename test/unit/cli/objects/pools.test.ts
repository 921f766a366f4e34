import { describe, expect, it } from '@jest/globals';
import { parseManifests } from '../../../../src/cli/objects/read.ts';
import { type World, worldOf } from '../../../../src/cli/objects/snapshot.ts';

const worldIn = async (...texts: readonly string[]): Promise<World> =>
  worldOf(parseManifests(texts.join('\n---\n'), 'test.yaml'), { instanceTypes: () => [], nowMs: 0 });

interface Parts {
  readonly name?: string;
  /** Fields of `metadata` besides the name. */
  readonly metadata?: string;
  readonly spec?: string;
  readonly template?: string;
  readonly status?: string;
  readonly kind?: string;
  readonly requirements?: string;
}
const STORED = ', resourceVersion: "7"';

const nodePool = ({
  name = 'p',
  metadata = '',
  spec = '',
  status = '{}',
  kind = 'EC2NodeClass',
  ...rest
}: Parts = {}) => `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: ${name}${metadata}}
spec:
  ${spec}
  template:
    spec: {requirements: [${rest.requirements ?? ''}], nodeClassRef: {group: karpenter.k8s.aws, kind: ${kind}, name: c}}
status: ${status}
`;
const nodeClass = (status: string, metadata = STORED): string => `
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: {name: c${metadata}}
spec: {role: r}
status: ${status}
`;
const NO_PROFILE =
  '{conditions: [{type: Ready, status: "False", message: InstanceProfileReady=False}, ' +
  '{type: InstanceProfileReady, status: "False", message: \'Instance profile "nodes.local" not found\'}]}';
const SUBNETS = 'subnets: [{id: s, zone: us-west-2a}]';
const READY = `{${SUBNETS}, conditions: [{type: Ready, status: "True"}]}`;
const idle = ({ snapshot }: World): unknown => snapshot.idlePools;
const active = ({ snapshot }: World): readonly string[] =>
  snapshot.pools.map(({ nodePool: { metadata } }) => metadata.name);

describe('a limit that cannot be parsed', () => {
  const LIMIT = 'limits: {cpu: "1e1.5"}';

  it('is an error in a manifest, even without pods', async () => {
    await expect(worldIn(nodePool({ spec: LIMIT }), nodeClass(READY))).rejects.toThrow(
      'test.yaml, document 1, NodePool p: spec.limits.cpu: "1e1.5" is not a quantity; use a number with an optional suffix',
    );
    await expect(
      worldIn(nodePool({ spec: 'limits: {cpu: 100, memory: 1Ti}' }), nodeClass(READY)),
    ).resolves.toMatchObject({
      snapshot: { pools: [{}] },
    });
  });

  it('is a note for a NodePool of a dump, and other NodePools are used', async () => {
    const world = await worldIn(
      nodePool({ spec: LIMIT, metadata: STORED }),
      nodePool({ name: 'q', metadata: STORED }),
      nodeClass(READY),
    );
    expect(world.notes).toContainEqual(
      expect.stringMatching(
        /NodePool p: spec\.limits\.cpu: "1e1\.5" is not a quantity; .*; the NodePool launches no nodes/,
      ),
    );
    expect(active(world)).toEqual(['q']);
    expect(idle(world)).toMatchObject([{ nodePool: 'p', misfit: { code: 'not-ready' } }]);
  });
});

describe('a kind behind a feature gate', () => {
  const overlay = `
apiVersion: karpenter.sh/v1alpha1
kind: NodeOverlay
metadata: {name: o}
spec: {requirements: [], price: "0.5"}
`;
  const types = [
    {
      name: 't',
      requirements: [],
      capacity: {},
      overhead: { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} },
      offerings: [{ requirements: [], usdPerHour: 1, available: true }],
    },
  ];
  const priced = async (featureGates?: Readonly<Record<string, boolean>>) => {
    const manifests = parseManifests([nodePool(), overlay].join('---'), 'test.yaml');
    const options = { instanceTypes: () => types, nowMs: 0, ...(featureGates && { featureGates }) };
    const { snapshot, notes } = await worldOf(manifests, options);
    return { usd: snapshot.pools[0]?.instanceTypes[0]?.offerings[0]?.usdPerHour, notes };
  };

  it('applies if its feature gate is enabled, with a note if the gate is not set', async () => {
    expect(await priced({ NodeOverlay: true })).toEqual({ usd: 0.5, notes: [] });
    expect(await priced({ NodeOverlay: false })).toEqual({ usd: 1, notes: [] });
    expect(await priced()).toEqual({
      usd: 0.5,
      notes: [
        'NodeOverlays are included, but the operator uses them only with the feature gate NodeOverlay, which is disabled by default; add --feature-gates NodeOverlay=true or NodeOverlay=false, as in the settings of the operator',
      ],
    });
  });
});

describe('a NodePool among manifests', () => {
  it.each([
    {
      when: 'its NodeClass is not Ready',
      world: [nodePool(), nodeClass(NO_PROFILE)],
      says: 'EC2NodeClass c: Instance profile "nodes.local" not found',
    },
    {
      when: 'its NodeClass has no conditions yet',
      world: [nodePool(), nodeClass('{}')],
      says: 'EC2NodeClass c: Node Class Readiness Unknown',
    },
    {
      when: 'its NodeClass is being deleted',
      world: [nodePool(), nodeClass(READY, `${STORED}, deletionTimestamp: "2026-01-01T00:00:00Z"`)],
      says: 'EC2NodeClass c: NodeClass is Terminating',
    },
    {
      when: 'the dump has NodeClasses, but not its own',
      world: [nodePool(), nodeClass(READY).replace('{name: c,', '{name: other,')],
      says: 'EC2NodeClass c: NodeClass not found on cluster',
    },
    {
      when: 'the dump has no NodeClasses, and the NodePool reports a missing NodeClass',
      world: [
        nodePool({
          metadata: STORED,
          status:
            '{conditions: [{type: NodeClassReady, status: "False", reason: NodeClassNotFound, message: NodeClass not found on cluster, lastTransitionTime: "2026-01-01T00:00:00Z"}]}',
        }),
      ],
      says: 'EC2NodeClass c: NodeClass not found on cluster',
    },
    {
      when: 'it is invalid in a way that the API server does not detect',
      world: [nodePool({ requirements: '{key: kubernetes.io/arch, operator: In, values: ["a b"]}' }), nodeClass(READY)],
      says: /^invalid value/,
    },
  ])('is not Ready if $when', async ({ world, says }) => {
    const found = await worldIn(...world);
    expect(active(found)).toEqual([]);
    expect(idle(found)).toEqual([
      {
        nodePool: 'p',
        misfit: { code: 'not-ready', text: typeof says === 'string' ? says : expect.stringMatching(says) },
      },
    ]);
    // Its nodes may still be disrupted.
    expect(found.allPools).toHaveLength(1);
  });

  it.each([
    ['whose NodeClass is Ready', [nodePool(), nodeClass(READY)]],
    ['of a user without a cluster', [nodePool()]],
    ['with a NodeClass of a user without a cluster', [nodePool(), nodeClass('{}', '')]],
  ])('launches nodes: a NodePool %s', async (_, world) => {
    const found = await worldIn(...world);
    expect(active(found)).toEqual(['p']);
    expect(idle(found)).toEqual([]);
    expect(found.unknown).toEqual([]);
  });

  it('is treated as Ready, with a note, if its NodeClass has no status in a dump', async () => {
    const found = await worldIn(nodePool({ metadata: STORED }), nodeClass('{}', ''));
    expect(active(found)).toEqual(['p']);
    expect(found.unknown).toEqual([
      'EC2NodeClass c: it has no status; it is assumed to be Ready, with subnets in every zone',
    ]);
  });

  it('is listed with the reason if it is static or being deleted', async () => {
    const found = await worldIn(
      nodePool({ name: 'fixed', spec: 'replicas: 2' }),
      nodePool({ name: 'going', metadata: ', deletionTimestamp: "2026-01-01T00:00:00Z"' }),
      nodePool({ name: 'last' }),
    );
    expect(active(found)).toEqual(['last']);
    expect(idle(found)).toMatchObject([
      { nodePool: 'fixed', misfit: { code: 'static' } },
      { nodePool: 'going', misfit: { code: 'deleting' } },
    ]);
  });

  it('is skipped if it belongs to another provider', async () => {
    const { allPools, notes } = await worldIn(nodePool({ kind: 'AzureNodeClass' }));
    expect(allPools).toEqual([]);
    expect(notes).toEqual([
      'test.yaml, document 1, NodePool p: spec.template.spec.nodeClassRef refers to AzureNodeClass of karpenter.k8s.aws, not to EC2NodeClass of karpenter.k8s.aws; it is skipped, as the operator also ignores it',
    ]);
  });

  it('is skipped in a dump, and rejected as a manifest, if the API server would reject it', async () => {
    const wrong = { name: 'old', spec: 'weight: 101' };
    const found = await worldIn(nodePool(), nodePool({ ...wrong, metadata: STORED }));
    expect(active(found)).toEqual(['p']);
    expect(found.notes).toEqual([expect.stringMatching(/NodePool old: spec\.weight: .*; it is skipped$/)]);
    expect(idle(found)).toMatchObject([{ nodePool: 'old', misfit: { code: 'unreadable' } }]);
    await expect(worldIn(nodePool(), nodePool(wrong))).rejects.toThrow('NodePool old: spec.weight');
  });
});
