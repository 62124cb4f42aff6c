export { parsePriority, parseReason, parseRerun } from './job-requests.dto.js';
export { parseReport, parseReports } from './report.dto.js';
