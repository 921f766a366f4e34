/** NodeReadinessRules delay the initialization of a Node, also before it has their taints. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Condition, NODE, NODE_READINESS_RULE, type Node, type NodeReadinessRule } from '#api/objects';
import { unmetRule } from '../../../../src/controllers/nodeclaim/readiness-rules.ts';
import { partial } from '../../../support/partial.ts';
import { conditionOf, World } from '../harness.ts';

type Spec = NodeReadinessRule['spec'];

const rule = (spec: Partial<Spec> = {}, name = 'network'): NodeReadinessRule => ({
  apiVersion: 'readiness.node.x-k8s.io/v1alpha1',
  kind: 'NodeReadinessRule',
  metadata: { name, uid: `uid-${name}` },
  spec: {
    conditions: [{ type: 'NetworkReady', requiredStatus: 'True' }],
    enforcementMode: 'bootstrap-only',
    ...spec,
  },
});
const nodeWith = (conditions: Readonly<Record<string, string>>, annotations: Record<string, string> = {}): Node =>
  partial<Node>({
    metadata: { name: 'a', labels: { pool: 'gpu' }, annotations },
    status: {
      conditions: Object.entries(conditions).map(([type, status]) => ({ type, status: status as Condition['status'] })),
    },
  });
const COMPLETED = { 'readiness.k8s.io/bootstrap-completed-uid-network': 'true' };
const TWO = ['A', 'B'].map((type) => ({ type, requiredStatus: 'True' }));
const selecting = (pool: string): Partial<Spec> => ({ nodeSelector: { matchLabels: { pool } } });

describe('unmetRule', () => {
  it.each<[string, NodeReadinessRule, Node, boolean]>([
    ['the condition is absent', rule(), nodeWith({}), true],
    ['the condition has another status', rule(), nodeWith({ NetworkReady: 'False' }), true],
    ['the condition has the status', rule(), nodeWith({ NetworkReady: 'True' }), false],
    [
      'the condition is absent and its default has the status',
      rule({ conditions: [{ type: 'NetworkReady', requiredStatus: 'True', defaultStatus: 'True' }] }),
      nodeWith({}),
      false,
    ],
    ['one of two conditions is met', rule({ conditions: TWO }), nodeWith({ A: 'True' }), true],
    ['one of anyOf is met', rule({ conditions: TWO, conditionPolicy: 'anyOf' }), nodeWith({ A: 'True' }), false],
    ['no condition of anyOf is met', rule({ conditions: TWO, conditionPolicy: 'anyOf' }), nodeWith({}), true],
    ['the bootstrap has ended', rule(), nodeWith({}, COMPLETED), false],
    ['the rule is continuous', rule({ enforcementMode: 'continuous' }), nodeWith({}, COMPLETED), true],
    ['the rule is a dry run', rule({ dryRun: true }), nodeWith({}), false],
    ['the rule selects the Node', rule(selecting('gpu')), nodeWith({}), true],
    ['the rule selects other Nodes', rule(selecting('web')), nodeWith({}), false],
  ])('finds the rule or not if %s', (_, given, node, isUnmet) => {
    expect(unmetRule([given], node) !== undefined).toBe(isUnmet);
  });

  it('finds a rule exactly if one of the rules alone is unmet, in any order', () => {
    const status = fc.constantFrom('True', 'False', 'Unknown');
    const types = fc.constantFrom('A', 'B', 'C');
    const rules = fc.array(
      fc.record({
        conditions: fc.array(fc.record({ type: types, requiredStatus: status }), { minLength: 1, maxLength: 3 }),
        conditionPolicy: fc.constantFrom('allOf' as const, 'anyOf' as const),
        enforcementMode: fc.constantFrom('bootstrap-only' as const, 'continuous' as const),
        dryRun: fc.boolean(),
      }),
      { maxLength: 4 },
    );
    fc.assert(
      fc.property(rules, fc.dictionary(types, status), (specs, conditions) => {
        const all = specs.map((spec, at) => rule(spec, `rule-${at}`));
        const node = nodeWith(conditions);
        expect(unmetRule(all, node) !== undefined).toBe(all.some((each) => unmetRule([each], node) !== undefined));
        expect(unmetRule(all.toReversed(), node)).toEqual(unmetRule(all, node));
      }),
    );
  });
});

describe('a Node that does not meet a rule', () => {
  let world: World;
  beforeEach(() => {
    world = new World();
  });
  afterEach(() => world.kill());

  const begin = async (): Promise<void> => {
    world.kube.create(NODE_READINESS_RULE, rule());
    world.nodePool();
    world.deploy('web', 1);
    world.start();
    await world.pass(60);
    expect(world.nodes).toHaveLength(1);
  };
  const state = (): string | undefined => conditionOf(world.claims[0], 'Initialized');

  it('is initialized when its condition has the status, and not launched again meanwhile', async () => {
    await begin();
    expect(state()).toBe('Unknown/ReadinessRuleNotMet');
    const [node] = world.nodes;
    const conditions = [...(node?.status?.conditions ?? []), { type: 'NetworkReady', status: 'True' as const }];
    world.kube.patch(NODE, { name: node?.metadata.name ?? '' }, { status: { conditions } }, 'status');
    await world.pass(5);
    expect(state()).toBe('True/Initialized');
    expect(world.cloud.creations).toBe(1);
  });

  it('is initialized when the rule is deleted', async () => {
    await begin();
    world.kube.delete(NODE_READINESS_RULE, { name: 'network' });
    await world.pass(5);
    expect(state()).toBe('True/Initialized');
  });

  it('stays initialized if a rule is added later', async () => {
    await begin();
    world.kube.delete(NODE_READINESS_RULE, { name: 'network' });
    await world.pass(5);
    world.kube.create(NODE_READINESS_RULE, rule({ enforcementMode: 'continuous' }));
    await world.pass(60);
    expect(state()).toBe('True/Initialized');
  });
});
