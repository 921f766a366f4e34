/** Cheaper nodes for the pods of a solve. */
import { describe, expect, it } from '@jest/globals';
import type { Plan } from '../../../../src/engine/model.ts';
import { instanceType, nodePool, planOf, replicas } from '../build.ts';

const TYPES = [
  instanceType('small', { cpu: 2, usd: 0.2 }),
  instanceType('medium', { cpu: 4, usd: 0.4 }),
  instanceType('large', { cpu: 16, usd: 2.4 }),
];

/** First-fit puts all of the pods on one large node; medium ones have a lower price by what they hold. */
const planUnder = (limits: Readonly<Record<string, string>>): Plan =>
  planOf({
    types: TYPES,
    pools: [nodePool('default', { limits })],
    pendingPods: replicas(12, 'web', { cpu: '1', memory: '128Mi' }),
  });

const summary = ({ claims }: Plan) => ({
  usdPerHour: claims.reduce((sum, { usdPerHour }) => sum + usdPerHour, 0),
  types: new Set(claims.flatMap(({ instanceTypes }) => instanceTypes)),
});

describe('cheaper nodes', () => {
  it('may be bought as anything that pods fit on', () => {
    expect(summary(planUnder({}))).toEqual({
      usdPerHour: expect.closeTo(0.6),
      types: new Set(['small', 'medium', 'large']),
    });
  });

  it('are bought as nothing larger where limits would count them as that', () => {
    // three claims that may become large nodes count as 48 CPU
    expect(summary(planUnder({ cpu: '20' }))).toEqual({
      usdPerHour: expect.closeTo(0.6),
      types: new Set(['small']),
    });
  });
});
