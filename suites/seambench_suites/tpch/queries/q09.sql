-- Q9, product type profit: earned with green parts, by nation and year.
WITH profit AS (
    SELECT
        n_name AS nation,
        extract(year FROM o_orderdate) AS o_year,
        l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
    FROM part
    JOIN lineitem ON l_partkey = p_partkey
    JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey
    JOIN supplier ON s_suppkey = l_suppkey
    JOIN orders ON o_orderkey = l_orderkey
    JOIN nation ON n_nationkey = s_nationkey
    WHERE p_name LIKE '%green%'
)
SELECT nation, o_year, sum(amount) AS sum_profit
FROM profit
GROUP BY nation, o_year
ORDER BY nation, o_year DESC;
