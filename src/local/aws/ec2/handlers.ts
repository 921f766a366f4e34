/** Handlers of the EC2 actions. */
import { hash } from 'node:crypto';
import type { CreateFleetRequest, RunInstancesRequest } from '@aws-sdk/client-ec2';
import type { Account } from '../state/account.ts';
import { AwsError } from '../wire/error.ts';
import type { Handlers } from '../wire/service.ts';
import * as capacity from './capacity.ts';
import { describeCapacityBlockOfferings, purchaseCapacityBlock } from './capacity-blocks.ts';
import { describeImages } from './describe-images.ts';
import * as machines from './describe-machines.ts';
import * as network from './describe-network.ts';
import * as types from './describe-types.ts';
import { refuseDryRun } from './dry-run.ts';
import { createFleet } from './fleets.ts';
import * as imageChanges from './image-changes.ts';
import * as instances from './instances.ts';
import * as networkChanges from './network-changes.ts';
import * as tags from './tags.ts';
import * as templates from './templates.ts';

type Action<I> = (account: Account, input: I) => unknown;

export function ec2Handlers(account: Account): Handlers {
  const read =
    <I extends { readonly DryRun?: boolean | undefined }>(action: Action<I>) =>
    (input: I): unknown => {
      refuseDryRun(input);
      return action(account, input);
    };
  const write =
    <I>(action: Action<I>) =>
    (input: I): unknown =>
      action(account, input);

  return {
    DescribeAvailabilityZones: read(network.describeAvailabilityZones),
    DescribeCapacityBlockOfferings: read(describeCapacityBlockOfferings),
    DescribeCapacityReservations: read(capacity.describeCapacityReservations),
    DescribeImages: read(describeImages),
    DescribeInstanceAttribute: read(machines.describeInstanceAttribute),
    DescribeInstances: read(instances.describeInstances),
    DescribeInstanceStatus: read(instances.describeInstanceStatus),
    DescribeInstanceTypeOfferings: read(types.describeInstanceTypeOfferings),
    DescribeInstanceTypes: read(types.describeInstanceTypes),
    DescribeLaunchTemplates: read(templates.describeLaunchTemplates),
    DescribeLaunchTemplateVersions: read(templates.describeLaunchTemplateVersions),
    DescribeNetworkInterfaces: read(instances.describeNetworkInterfaces),
    DescribePlacementGroups: read(capacity.describePlacementGroups),
    DescribeSecurityGroups: read(network.describeSecurityGroups),
    DescribeSpotInstanceRequests: read(machines.describeSpotInstanceRequests),
    DescribeSpotPriceHistory: read(types.describeSpotPriceHistory),
    DescribeSubnets: read(network.describeSubnets),
    DescribeTags: read(tags.describeTags),
    DescribeVolumes: read(machines.describeVolumes),
    DescribeVpcs: read(network.describeVpcs),
    CancelCapacityReservation: write(capacity.cancelCapacityReservation),
    CopyImage: write(imageChanges.copyImage),
    CreateCapacityReservation: write(capacity.createCapacityReservation),
    CreateFleet: write((owner, input: CreateFleetRequest) => once(owner, 'CreateFleet', input, createFleet)),
    CreateInterruptibleCapacityReservationAllocation: write(capacity.createInterruptibleAllocation),
    CreateLaunchTemplate: write(templates.createLaunchTemplate),
    CreatePlacementGroup: write(capacity.createPlacementGroup),
    CreateSecurityGroup: write(networkChanges.createSecurityGroup),
    CreateTags: write(tags.createTags),
    DeleteLaunchTemplate: write(templates.deleteLaunchTemplate),
    DeletePlacementGroup: write(capacity.deletePlacementGroup),
    DeleteSecurityGroup: write(networkChanges.deleteSecurityGroup),
    DeleteTags: write(tags.deleteTags),
    DisableImageDeprecation: write(imageChanges.disableImageDeprecation),
    EnableImageDeprecation: write(imageChanges.enableImageDeprecation),
    ModifySubnetAttribute: write(networkChanges.modifySubnetAttribute),
    RunInstances: write((owner, input: RunInstancesRequest) =>
      once(owner, 'RunInstances', input, instances.runInstances),
    ),
    PurchaseCapacityBlock: write(purchaseCapacityBlock),
    RebootInstances: write(instances.rebootInstances),
    StopInstances: write(instances.stopInstances),
    TerminateInstances: write(instances.terminateInstances),
    UpdateInterruptibleCapacityReservationAllocation: write(capacity.updateInterruptibleAllocation),
  };
}

/** Number of responses that are stored for repeated client tokens. */
const REMEMBERED = 5_000;

interface Tokened {
  readonly ClientToken?: string | undefined;
  readonly DryRun?: boolean | undefined;
}

/** Returns the first response again if a request is repeated with the same client token. */
function once<I extends Tokened>(
  account: Account,
  action: string,
  input: I,
  run: (account: Account, input: I) => unknown,
): unknown {
  const { ClientToken: token, ...rest } = input;
  if (!token || input.DryRun) return run(account, input);
  const key = `${action}:${token}`;
  // requests with many overrides are long, and thousands of them are stored
  const fingerprint = hash('sha1', JSON.stringify(rest));
  const remembered = account.answers.get(key);
  if (!remembered) {
    const answer = run(account, input);
    account.answers.set(key, { fingerprint, answer });
    const [oldest] = account.answers.keys();
    if (account.answers.size > REMEMBERED && oldest) account.answers.delete(oldest);
    return answer;
  }
  if (remembered.fingerprint !== fingerprint) {
    throw new AwsError(
      'IdempotentParameterMismatch',
      'The request uses the same client token as a previous, but non-identical request.',
    );
  }
  return remembered.answer;
}
