/** Offers and sells capacity blocks: reservations of instances for a time span in the future. */
import type {
  CapacityBlockOffering,
  DescribeCapacityBlockOfferingsRequest,
  DescribeCapacityBlockOfferingsResult,
  PurchaseCapacityBlockRequest,
  PurchaseCapacityBlockResult,
} from '@aws-sdk/client-ec2';
import { tryRun } from '#lib';
import type { Account } from '../state/account.ts';
import { addReservation } from '../state/additions.ts';
import { AwsError, invalidValue, missingParameter } from '../wire/error.ts';
import { describeCapacityReservations } from './capacity.ts';
import { refuseDryRun } from './dry-run.ts';
import { specifiedTags } from './tags.ts';

const HOUR_MS = 3_600_000;
/** Blocks start at full half hours. */
const START_STEP_MS = HOUR_MS / 2;

/** Parameters of an offering. Its ID contains them, so that offerings need not be stored. */
interface Block {
  readonly type: string;
  readonly zone: string;
  readonly count: number;
  readonly startMs: number;
  readonly hours: number;
}

const idOf = (block: Block): string => `cb-${Buffer.from(JSON.stringify(block)).toString('hex')}`;

function blockOf(id: string): Block {
  const block = tryRun(() => JSON.parse(Buffer.from(id.replace(/^cb-/, ''), 'hex').toString()) as Block);
  if (block?.type === undefined)
    throw new AwsError('InvalidCapacityBlockOfferingId.NotFound', `The offering '${id}' does not exist.`);
  return block;
}

function offering(account: Account, block: Block): CapacityBlockOffering {
  const { type, zone, count, startMs, hours } = block;
  const fee = (account.catalogue.onDemandUsd(type) ?? 0) * count * hours;
  return {
    CapacityBlockOfferingId: idOf(block),
    InstanceType: type,
    AvailabilityZone: zone,
    InstanceCount: count,
    StartDate: new Date(startMs),
    EndDate: new Date(startMs + hours * HOUR_MS),
    CapacityBlockDurationHours: hours,
    UpfrontFee: fee.toFixed(4),
    CurrencyCode: 'USD',
    Tenancy: 'default',
  };
}

/** Offers one block in each zone, at the first possible start. */
export function describeCapacityBlockOfferings(
  account: Account,
  input: DescribeCapacityBlockOfferingsRequest,
): DescribeCapacityBlockOfferingsResult {
  const { InstanceType: type, InstanceCount: count = 1, CapacityDurationHours: hours = 0 } = input;
  if (!type) throw missingParameter('InstanceType');
  if (!account.types.has(type)) throw invalidValue('InstanceType', type);
  if (hours < 1) throw invalidValue('CapacityDurationHours', hours, 'It must be at least 1.');
  refuseDryRun(input);
  const earliestMs = Math.max(account.clock.now(), input.StartDateRange?.getTime() ?? 0);
  const startMs = Math.ceil(earliestMs / START_STEP_MS) * START_STEP_MS;
  const blocks = account.zones.map(({ name: zone }) => ({ type, zone, count, startMs, hours }));
  const isInTime = startMs + hours * HOUR_MS <= (input.EndDateRange?.getTime() ?? Number.POSITIVE_INFINITY);
  return { CapacityBlockOfferings: isInTime ? blocks.map((block) => offering(account, block)) : [] };
}

export function purchaseCapacityBlock(
  account: Account,
  input: PurchaseCapacityBlockRequest,
): PurchaseCapacityBlockResult {
  const { CapacityBlockOfferingId: offeringId, InstancePlatform: platform } = input;
  if (!offeringId) throw missingParameter('CapacityBlockOfferingId');
  if (!platform) throw missingParameter('InstancePlatform');
  const { type, zone, count, startMs, hours } = blockOf(offeringId);
  refuseDryRun(input);
  const id = addReservation(account, {
    instanceType: type,
    zone,
    total: count,
    matchCriteria: 'targeted',
    reservationType: 'capacity-block',
    startDateMs: startMs,
    endDateMs: startMs + hours * HOUR_MS,
    tags: specifiedTags(input.TagSpecifications, 'capacity-reservation'),
  });
  const { CapacityReservations: [CapacityReservation] = [] } = describeCapacityReservations(account, {
    CapacityReservationIds: [id],
  });
  return { ...(CapacityReservation && { CapacityReservation }) };
}
