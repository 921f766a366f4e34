/** State that the provider keeps while the responses of AWS cannot be used. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, getCondition, INSTANCE_TYPE_LABEL, NODE_CLAIM } from '#api/objects';
import { type ProxiedRequest, type RewritingProxy, startRewritingProxy } from '../../../hostile/rewriting-proxy.ts';
import { operationOf } from '../../../hostile/spoilt-answers.ts';
import { catalogueOf } from '../../../support/catalogue.ts';
import { present } from '../../../support/present.ts';
import { Account, only } from '../support/account.ts';

let account: Account;
let proxy: RewritingProxy;
beforeEach(async () => {
  account = await Account.open({ catalogue: catalogueOf(/^m5\./) });
  proxy = await startRewritingProxy(account.aws.url);
  process.env.AWS_ENDPOINT_URL = proxy.url;
  await account.restart();
  await account.reconcile('providers.pricing');
  await account.reconcileNodeClass();
});
afterEach(async () => {
  await proxy.close();
  await account.close();
});

/** Changes the responses to a call, except errors. */
function change(operation: string, alter: (text: string) => string): void {
  proxy.spoil((request: ProxiedRequest) =>
    operationOf(request) === operation
      ? { kind: 'changed', change: (text) => (text.includes('<Errors>') ? text : alter(text)) }
      : undefined,
  );
}
const hollow = (text: string): string =>
  text.startsWith('{') ? '{}' : text.replace(/(<\w+Response[^>]*>).*(<\/\w+>)/s, '$1$2');

const statusOf = () => {
  const { status = {} } = account.nodeClass();
  const { conditions: _, ...rest } = status;
  return rest;
};
const forward = (minutes: number): void => account.clock.forward(minutes * 60_000);
const logged = (): string =>
  JSON.stringify(
    account.lines.filter(({ level }) => level === 'error'),
    (_, value) => (value instanceof Error ? value.message : value),
  );

describe('a response without the requested list', () => {
  it.each([
    ['DescribeImages', 'Images is missing'],
    ['DescribeSubnets', 'Subnets is missing'],
    ['DescribeSecurityGroups', 'SecurityGroups is missing'],
    ['GetInstanceProfile', 'InstanceProfile is missing'],
  ])('leaves the status of a NodeClass unchanged: %s', async (operation, problem) => {
    const before = statusOf();
    change(operation, hollow);
    for (let pass = 0; pass < 3; pass++) {
      forward(20);
      await expect(account.reconcileNodeClass()).rejects.toThrow(problem);
      expect(statusOf()).toEqual(before);
      expect(getCondition(account.nodeClass(), 'Ready')?.status).toBe('True');
    }
    proxy.mend();
    await account.reconcileNodeClass();
    expect(statusOf()).toEqual(before);
  });

  it('leaves the status of a NodeClass with an existing placement group unchanged', async () => {
    const { status: _, ...rest } = account.nodeClass();
    account.aws.seed.placementGroup({ name: 'near', strategy: 'cluster' });
    account.kube.put(EC2_NODE_CLASS, {
      ...rest,
      metadata: { name: 'grouped' },
      spec: { ...rest.spec, placementGroupSelector: { name: 'near' } },
    });
    await account.reconcileNodeClass('grouped');
    change('DescribePlacementGroups', hollow);
    forward(20);
    await expect(account.reconcileNodeClass('grouped')).rejects.toThrow('PlacementGroups is missing');
    expect(getCondition(account.nodeClass('grouped'), 'PlacementGroupReady')?.status).toBe('True');
  });
});

describe('a response that cannot be used', () => {
  it('does not end one instance or all instances', async () => {
    const claim = await account.provider.create(account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large')));
    account.kube.put(NODE_CLAIM, claim);
    await account.restart();
    for (const alter of [
      hollow,
      (text: string) => text.replace(/<reservationSet>.*<\/reservationSet>/s, '<reservationSet>0</reservationSet>'),
    ]) {
      change('DescribeInstances', alter);
      await expect(account.provider.list()).rejects.toThrow('to DescribeInstances is invalid');
      await expect(account.provider.get(present(claim.status?.providerID))).rejects.toThrow('is invalid');
    }
    proxy.mend();
    expect(await account.provider.list()).toHaveLength(1);
  });

  it('does not terminate instances of another cluster', async () => {
    const claim = await account.provider.create(account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large')));
    const [id] = account.running();
    change('DescribeInstances', (text) => text.replaceAll('<value>test</value>', '<value>theirs</value>'));
    await account.restart();
    await account.kube.client().delete(NODE_CLAIM, claim.metadata);
    forward(20);
    await expect(account.reconcile('instance.garbagecollection')).rejects.toThrow(
      `instance ${id} does not have the requested tags`,
    );
    expect(account.running()).toEqual([id]);
  });

  it('omits one instance type or keeps its earlier description', async () => {
    const broken = (text: string): string =>
      text.replace(/(<instanceType>m5\.large<\/instanceType>.*?<defaultVCpus>)\d+/s, '$1-1e999');
    const names = async (): Promise<readonly string[]> =>
      (await account.provider.instanceTypes(account.nodePool('default'))).map(({ name }) => name);
    change('DescribeInstanceTypes', broken);
    await account.reconcile('providers.instancetype');
    expect(await names()).toContain('m5.large');
    await account.restart();
    expect(await names()).not.toContain('m5.large');
    expect(await names()).toContain('m5.xlarge');
    expect(logged()).toContain('VCpuInfo.DefaultVCpus is -Infinity');
  });

  it('changes no price if it is about prices', async () => {
    const prices = async (): Promise<readonly number[]> =>
      (await account.provider.instanceTypes(account.nodePool('default'))).flatMap(({ offerings }) =>
        offerings.filter(({ available }) => available).map(({ usdPerHour }) => usdPerHour),
      );
    const before = await prices();
    expect(before.every((price) => price > 0)).toBe(true);
    for (const value of ['-1e999', '1e999', '0', 'free', '']) {
      change('DescribeSpotPriceHistory', (text) =>
        text.replace(/<spotPrice>[^<]*<\/spotPrice>/, `<spotPrice>${value}</spotPrice>`),
      );
      await account.reconcile('providers.pricing');
      change('GetProducts', (text) => text.replaceAll(/(USD\\":\\")[\d.]+/g, `$1${value}`));
      await account.reconcile('providers.pricing').catch(() => undefined);
      expect(await prices()).toEqual(before);
    }
    expect(logged()).toContain('to DescribeSpotPriceHistory is invalid');
    expect(logged()).toContain('to GetProducts is invalid');
  });

  it('reports no service network if it is about the service network', async () => {
    await account.restart();
    const { status: _, ...rest } = account.nodeClass();
    account.kube.put(EC2_NODE_CLASS, { ...rest, metadata: { name: 'other' } });
    change('DescribeCluster', hollow);
    await expect(account.reconcileNodeClass('other')).rejects.toThrow('to DescribeCluster is invalid');
    expect(getCondition(account.nodeClass('other'), 'ValidationSucceeded')?.status).toBe('Unknown');
    const claim = account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large'));
    await expect(account.provider.create(claim)).rejects.toThrow('Error getting launch template configs');
    expect(account.running()).toEqual([]);
    proxy.mend();
    await account.reconcileNodeClass('other');
    expect(getCondition(account.nodeClass('other'), 'ValidationSucceeded')?.status).toBe('True');
  });

  it('is requested again if it is about launch templates of an earlier process', async () => {
    await account.provider.create(account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large')));
    await account.restart();
    change('DescribeLaunchTemplates', hollow);
    await account.reconcile('providers.launchtemplate');
    expect(logged()).toContain('LaunchTemplates is missing');
    proxy.mend();
    await account.reconcile('providers.launchtemplate');
    account.aws.calls.clear();
    forward(20);
    await account.reconcile('providers.launchtemplate');
    expect(account.aws.calls.counts().DeleteLaunchTemplate).toBeGreaterThan(0);
  });

  it('does not launch a second instance if it is about a fleet', async () => {
    const claim = account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large'));
    change('CreateFleet', (text) => text.replace(/<fleetInstanceSet>.*<\/fleetInstanceSet>/s, ''));
    await expect(account.provider.create(claim)).rejects.toThrow('Error creating fleet request');
    proxy.mend();
    const bought = await account.provider.create(claim);
    expect(account.running()).toHaveLength(1);
    expect(bought.status?.providerID).toContain(account.running()[0]);
  });
});
