/** EC2 status checks of several instances if the termination of one instance fails. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { INSTANCE_TYPE_LABEL, NODE_CLAIM } from '#api/objects';
import { instanceIdOfClaim } from '../../../../src/aws/instances/instance.ts';
import { present } from '../../../support/present.ts';
import { Account, only } from '../support/account.ts';

const PATIENCE_MS = 3 * 60_000;

interface Bought {
  readonly name: string;
  readonly id: string;
}

let account: Account;
beforeEach(async () => {
  account = await Account.open();
});
afterEach(() => account.close());

async function buy(): Promise<Bought> {
  const claim = account.write(await account.provider.create(account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large'))));
  const id = present(instanceIdOfClaim(claim));
  // EC2 checks the status of running instances only.
  await account.started(id);
  return { name: claim.metadata.name, id };
}

function impair(...bought: readonly Bought[]): void {
  for (const { id } of bought) account.aws.faults.impair(id);
  account.clock.forward(PATIENCE_MS);
}

const refuse = (...names: readonly string[]): void => {
  account.kube.beforeWrite = (operation, name) => {
    if (operation === 'delete nodeclaims' && names.includes(name)) throw new Error('a webhook says no');
  };
};
const pass = () => account.reconcile('interruption.instancestatus');
const isThere = ({ name }: Bought): boolean => account.kube.find(NODE_CLAIM, { name }) !== undefined;

describe('an instance that fails its status checks', () => {
  it.each([0, 1, 2])('is terminated although the deletion of number %d fails', async (refused) => {
    const all = [await buy(), await buy(), await buy()];
    impair(...all);
    const kept = all[refused]?.name ?? '';
    refuse(kept);
    await expect(pass()).rejects.toThrow(`acting on instance_status, deleting NodeClaim "${kept}", a webhook says no`);
    expect(all.map(isThere)).toEqual(all.map((_, index) => index === refused));
    refuse();
    await pass();
    expect(all.map(isThere)).toEqual([false, false, false]);
  });

  it('is counted from the start after a recovery, also while other deletions fail', async () => {
    const [refused, recovering] = [await buy(), await buy()];
    impair(refused, recovering);
    refuse(refused.name, recovering.name);
    await expect(pass()).rejects.toThrow(refused.name);
    account.aws.faults.recover(recovering.id);
    await expect(pass()).rejects.toThrow(refused.name);
    impair(recovering);
    await expect(pass()).rejects.toThrow(refused.name);
    expect(await account.metricsText()).toContain(
      'karpenter_interruption_instance_status_unhealthy_total{category="InstanceStatus"} 3',
    );
  });
});
