/** SDK clients on the default credential chain. `AWS_ENDPOINT_URL` and `AWS_REGION` steer them as usual. */
import { EC2Client } from '@aws-sdk/client-ec2';
import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { PricingClient } from '@aws-sdk/client-pricing';
import { SQSClient } from '@aws-sdk/client-sqs';
import { SSMClient } from '@aws-sdk/client-ssm';
import { instanceRegion } from './metadata.ts';

/** Longer than any answer takes, a long poll of the queue included. An AWS that never answers must not hold us up. */
const ANSWER_MS = 60_000;

export interface Clients {
  readonly ec2: EC2Client;
  /** For dry runs, where a throttle is an answer rather than something to wait for. */
  readonly ec2Once: EC2Client;
  readonly sqs: SQSClient;
  readonly ssm: SSMClient;
  readonly iam: IAMClient;
  readonly eks: EKSClient;
  readonly pricing: PricingClient;
  readonly region: string;
}

/** The region whose Pricing API serves a region. */
export function pricingRegion(region: string): string {
  if (region.startsWith('ap-')) return 'ap-south-1';
  if (region.startsWith('cn-')) return 'cn-northwest-1';
  if (region.startsWith('eu-')) return 'eu-central-1';
  return 'us-east-1';
}

/**
 * The region of the SDK's configuration, else that of the instance.
 * @throws Error that says where a region can be set
 */
async function regionOf(configured: () => Promise<string>): Promise<string> {
  try {
    return await configured();
  } catch (error) {
    const region = await instanceRegion();
    if (region !== undefined) return region;
    throw new Error(
      'the AWS region is not known: set AWS_REGION, or region for the profile in ~/.aws/config' +
        ' (neither is set, and no EC2 instance metadata answers here)',
      { cause: error },
    );
  }
}

/**
 * With the SDK's standard mode: throttling and transient errors are retried with jittered back-off.
 * @param answerMs how long each attempt waits for its answer
 * @throws Error when neither the environment, the shared config nor the instance names a region
 */
export async function createClients(answerMs = ANSWER_MS): Promise<Clients> {
  const once = {
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 5_000, requestTimeout: answerMs, throwOnRequestTimeout: true },
  };
  const probe = new EC2Client(once);
  const region = await regionOf(probe.config.region);
  probe.destroy();
  const patient = { ...once, region, maxAttempts: 6, retryMode: 'standard' };
  return {
    ec2: new EC2Client(patient),
    ec2Once: new EC2Client({ ...once, region }),
    // A long poll holds its connection for 20 s, so the queue has a client of its own.
    sqs: new SQSClient(patient),
    ssm: new SSMClient(patient),
    iam: new IAMClient(patient),
    eks: new EKSClient(patient),
    pricing: new PricingClient({ ...patient, region: pricingRegion(region) }),
    region,
  };
}
