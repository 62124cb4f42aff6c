import { describeLarge } from './large.js';

describeLarge(1101);
