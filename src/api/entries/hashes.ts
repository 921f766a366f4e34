export { EC2_NODECLASS_HASH_VERSION, ec2NodeClassHash, NODEPOOL_HASH_VERSION, nodePoolHash } from '../hash.ts';
export { EC2_NODECLASS_HASH_V5, matchesV5Hash } from '../hash-v5.ts';
