-- Q13, customer distribution: how many customers placed how many orders without special requests.
WITH counted AS (
    SELECT c_custkey, count(o_orderkey) AS c_count
    FROM customer
    LEFT JOIN orders ON o_custkey = c_custkey AND o_comment NOT LIKE '%special%requests%'
    GROUP BY c_custkey
)
SELECT c_count, count(*) AS custdist
FROM counted
GROUP BY c_count
ORDER BY custdist DESC, c_count DESC;
