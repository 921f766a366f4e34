import { openLocal } from './local.ts';
import { contract } from './suite.ts';

contract('the local AWS', openLocal);
