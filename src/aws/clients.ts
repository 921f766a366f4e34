/** SDK clients on the default credential chain. `AWS_ENDPOINT_URL` and `AWS_REGION` steer them as usual. */
import { EC2Client } from '@aws-sdk/client-ec2';
import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { PricingClient } from '@aws-sdk/client-pricing';
import { SQSClient } from '@aws-sdk/client-sqs';
import { SSMClient } from '@aws-sdk/client-ssm';

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
 * With the SDK's standard mode: throttling and transient errors are retried with jittered back-off.
 * @param answerMs how long each attempt waits for its answer
 * @throws when neither the environment nor the shared config names a region
 */
export async function createClients(answerMs = ANSWER_MS): Promise<Clients> {
  const once = {
    maxAttempts: 1,
    requestHandler: { connectionTimeout: 5_000, requestTimeout: answerMs, throwOnRequestTimeout: true },
  };
  const patient = { ...once, maxAttempts: 6, retryMode: 'standard' };
  const ec2 = new EC2Client(patient);
  const region = await ec2.config.region();
  return {
    ec2,
    ec2Once: new EC2Client(once),
    // A long poll holds its connection for 20 s, so the queue has a client of its own.
    sqs: new SQSClient(patient),
    ssm: new SSMClient(patient),
    iam: new IAMClient(patient),
    eks: new EKSClient(patient),
    pricing: new PricingClient({ ...patient, region: pricingRegion(region) }),
    region,
  };
}
