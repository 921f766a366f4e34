/** The operator is killed and restarted at each step of replacing several nodes by one, as in crashes.test.ts. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { at, considers, creates, deletes, taints } from './crash-points.ts';
import { type CrashableOperator, type CrashPoint, crashableOperator, untilDead } from './crashable-operator.ts';
import { type Scenario, startScenario } from './harness.ts';
import { BRISK, leaks, outgrow, pool } from './pools.ts';

let scenario: Scenario;
let operator: CrashableOperator;

describe('an operator that is killed while it replaces several nodes by one', () => {
  afterEach(async () => {
    expect(operator.hasty).toEqual([]);
    await operator.close();
    await scenario.stop();
  });

  it.each<[string, CrashPoint]>([
    ['while it waits for the validation', at('after', considers)],
    ['after it tainted one node', at('after', taints)],
    ['after it created the replacement', at('after', creates)],
    ['after it deleted one of the claims', at('after', deletes)],
  ])(
    '%s',
    async (_, trap) => {
      scenario = await startScenario({ ...BRISK, operator: false });
      operator = await crashableOperator(scenario);
      await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
      await operator.start();
      const shape = { cpus: [2, 4, 8] };
      let before = 0;
      await outgrow(scenario, shape, { nodes: 2, small: 3 }, async () => {
        before = scenario.world.aws.spending.usdPerHour();
        await operator.kill();
        await scenario.apply(pool(shape));
        await operator.start(trap);
      });
      await untilDead(scenario, operator);
      await operator.start();
      // At the end, the small pods must run alone on one small node. Any sequence of steps is allowed.
      await scenario.until(
        'one cheap node with all pods, and nothing else',
        async () =>
          scenario.instances().length === 1 &&
          scenario.world.aws.spending.usdPerHour() < before / 2 &&
          (await leaks(scenario)).length === 0 &&
          (await scenario.running('small')).length === 3,
        90_000,
      );
    },
    300_000,
  );
});
