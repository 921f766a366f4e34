import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODE_CLAIM, type NodeClaim } from '#api/objects';
import { Account, only } from '../support/account.ts';

let account: Account;
let claim: NodeClaim;
beforeEach(async () => {
  account = await Account.open();
  const wanted = account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large'), only(CAPACITY_TYPE_LABEL, 'on-demand'));
  claim = account.write(await account.provider.create(wanted));
});
afterEach(() => account.close());

const annotations = () => account.kube.find(NODE_CLAIM, claim.metadata)?.metadata.annotations ?? {};

describe('tagging', () => {
  it('waits for the node', async () => {
    await account.reconcileClaim('nodeclaim.tagging', claim);
    expect(annotations()['karpenter.k8s.aws/tagged']).toBeUndefined();
  });

  it('names the node and the NodeClaim once', async () => {
    const named = account.write({ ...claim, status: { ...claim.status, nodeName: 'ip-10-0-0-1.internal' } });
    await account.reconcileClaim('nodeclaim.tagging', named);
    expect(account.aws.instances.list()[0]?.tags).toMatchObject({
      Name: 'ip-10-0-0-1.internal',
      'karpenter.sh/nodeclaim': claim.metadata.name,
    });
    expect(annotations()).toMatchObject({
      'karpenter.k8s.aws/tagged': 'true',
      'compatibility.karpenter.k8s.aws/cluster-name-tagged': 'true',
    });
    expect(await account.metricsText()).toContain(
      'aws_sdk_go_request_total{service="EC2",action="CreateTags",code=""} 1',
    );
  });

  it('skips an instance that no longer exists', async () => {
    const status = { ...claim.status, nodeName: 'n', providerID: 'aws:///us-west-2a/i-0123456789abcdef0' };
    await account.reconcileClaim('nodeclaim.tagging', account.write({ ...claim, status }));
    expect(annotations()['karpenter.k8s.aws/tagged']).toBeUndefined();
  });
});
