/**
 * CPU credits that burstable instance types earn in an hour, by family and size. A credit is one vCPU-minute, so 60 credits an
 * hour are a baseline of one vCPU. AWS publishes no API for them. Written by `npm run renew:cpu-credits`.
 * Source: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/burstable-credits-baseline-concepts.html
 * (as known on 2026-11-24; written without access to the page).
 */
export const EARNED_CREDITS: Readonly<Record<string, string>> = {
  t2: 'nano:3 micro:6 small:12 medium:24 large:36 xlarge:54 2xlarge:81.6',
  t3: 'nano:6 micro:12 small:24 medium:24 large:36 xlarge:96 2xlarge:192',
  t3a: 'nano:6 micro:12 small:24 medium:24 large:36 xlarge:96 2xlarge:192',
  t4g: 'nano:6 micro:12 small:24 medium:24 large:36 xlarge:96 2xlarge:192',
};
