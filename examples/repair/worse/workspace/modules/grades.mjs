const GRADES = [
  [97, 'A+'],
  [93, 'A'],
  [90, 'A-'],
  [87, 'B+'],
  [83, 'B'],
  [80, 'B-'],
  [77, 'C+'],
  [73, 'C'],
  [70, 'C-'],
  [67, 'D+'],
  [63, 'D'],
  [60, 'D-'],
  [50, 'E+'],
  [45, 'E'],
  [40, 'E-'],
  [30, 'F+'],
  [20, 'F'],
  [0, 'F-'],
];

/** The grade for points of 100; handed in late, it costs 10 points. */
export function grade(points, late = false) {
  const counted = Math.max(0, late ? points - 10 : points);
  return GRADES.find(([least]) => counted >= least)[1];
}

/** Whether someone passed: every grade must be good enough. */
export function passed(results) {
  return results.some((points) => points >= 60);
}
